"""What the real model says, as a speech recogniser hears it: no word is lost, however long the text."""

import numpy as np
import pytest

from container.kokoro.engine import Engine
from container.kokoro.messages import Utterance
from container.kokoro.phonemes import Phonemizer
from container.kokoro.speech import Speech
from container.kokoro.vocabulary import MAX_PHONEMES
from contract_tests.recognition import align, unavailable, words_heard

RATE = 16_000
"""The recogniser's own."""
SPEED = 1.25
"""Brisk, and as easily understood: it saves a fifth of the work."""

UNPUNCTUATED = (
    "when the morning train left the station the conductor walked through the carriages and looked at every ticket "
    "while the children pressed their faces against the cold windows to watch the green fields and the small white "
    "houses and the long stone bridges that went by until the river became wide and slow and the first boats came "
    "into view with their red sails and their busy crews who waved at the passengers as if they had known them for "
    "years and then the mountains rose behind the forest and the sky turned from gray to a deep and perfect blue "
    "before the whole train disappeared into a dark tunnel."
)
SENTENCES = (
    " Nobody spoke for a while. An old man opened his basket, took out some bread and cheese, and shared them with the "
    "young soldier beside him. Did they know each other? Perhaps not; but they laughed like friends, and soon "
    "everybody in the carriage was listening to their stories. In the evening, when the lamps were lit, the train "
    "stopped at a quiet village by the sea, and all of them went home to sleep."
)
TEXT = UNPUNCTUATED + SENTENCES


async def say(engine: Engine, phonemizer: Phonemizer, text: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    # where a text is cut depends on the measured pace: on a clock that stands still it is the same on every machine
    speech = Speech(engine, phonemizer, clock=lambda: 0.0)
    try:
        frames = speech.utter(Utterance(text, sample_rate=RATE, speed=SPEED)).frames()
        return np.frombuffer(b"".join([frame async for frame in frames]), "<i2")
    finally:
        speech.stop()


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
async def test_no_word_is_lost_in_a_long_text(onnx: Engine, phonemizer: Phonemizer) -> None:
    assert len(TEXT) >= 1000
    assert sum(map(len, phonemizer.read(UNPUNCTUATED, "a").runs)) > MAX_PHONEMES
    audio = await say(onnx, phonemizer, TEXT)
    heard = align(TEXT, words_heard(audio, RATE))
    assert len(heard.longest_gap) < 3, f"not spoken: {heard.longest_gap}"
    assert heard.rate < 0.04, [pair for pair in heard.pairs if pair[0] != pair[1]]
    # 15 characters a second is this voice's own pace; what is missing at a joint, or said twice, moves it
    assert 12 < len(TEXT) * RATE / len(audio) / SPEED < 18
