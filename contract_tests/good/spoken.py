"""A good container with recorded speech: real words for the sentences that a recogniser is asked about.

It is the one model-free container whose audio says something; whatever else is asked for becomes a tone.
``python -m contract_tests.good.spoken`` makes the recordings anew, with the Kokoro container's model and weights.
"""

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contract_tests import passage
from contract_tests.audioformat import AudioFormat
from contract_tests.good import protocol, tone
from contract_tests.good.speech import Session, speech_app

RECORDINGS = Path(__file__).with_name("spoken.npz")
"""For each sentence of the passage, in order, the voice af_heart as mu-law (ITU-T G.711) at 16 kHz."""
RECORDED_RATE = 16_000
CODES = AudioFormat(RECORDED_RATE, None, "mulaw")
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


class SpokenSession(Session):
    """Session that speaks known sentences from recordings."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return the sentences one behind the other."""
        parts = [self.speak(sentence, request) for sentence in self.sentences(request.text)]
        return tone.pcm16(np.concatenate(parts) if parts else np.zeros(0))

    def sentences(self, text: str) -> list[str]:
        """Cut `text` behind each sentence."""
        return _SENTENCE_END.split(text)

    def speak(self, sentence: str, request: protocol.Say) -> NDArray[np.float64]:
        """Return the samples of one sentence, -1..1 at the request's rate."""
        recorded = recordings().get(sentence)
        if recorded is None:
            return tone.waveform(sentence, request.voice, request.rate, request.speed)
        count = round(len(recorded) * request.rate / RECORDED_RATE / request.speed)
        return np.interp(np.linspace(0, len(recorded) - 1, count), np.arange(len(recorded)), recorded)


@cache
def recordings() -> Mapping[str, NDArray[np.float64]]:
    """Return the samples (n,) in -1..1 of each recorded sentence."""
    with np.load(RECORDINGS) as clips:
        return {text: _samples(clips[f"s{number}"]) for number, text in enumerate((*passage.LONG, *passage.SHORT))}


def _samples(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    return np.frombuffer(CODES.pcm16(codes.tobytes()), "<i2") / 32768


def _nearest_codes(pcm: NDArray[np.int16]) -> NDArray[np.uint8]:
    values = _samples(np.arange(256, dtype=np.uint8)) * 32768
    order = values.argsort()
    borders = (values[order][1:] + values[order][:-1]) / 2
    return order[np.searchsorted(borders, pcm)].astype(np.uint8)


def _record() -> None:
    from container.kokoro import engine  # noqa: PLC0415 - only here
    from container.kokoro.messages import Utterance  # noqa: PLC0415
    from container.kokoro.phonemes import Phonemizer  # noqa: PLC0415
    from container.kokoro.speech import Speech  # noqa: PLC0415
    from container.kokoro.weights import resolve  # noqa: PLC0415

    async def say(text: str) -> NDArray[np.int16]:
        utterance = Utterance(text, sample_rate=RECORDED_RATE)
        pcm = b"".join([frame async for frame in speech.utter(utterance).frames()])
        return np.frombuffer(pcm, "<i2")

    speech = Speech(engine.load("onnx", resolve("auto", "onnx")), Phonemizer())
    try:
        clips = {}
        for number, text in enumerate((*passage.LONG, *passage.SHORT)):
            clips[f"s{number}"] = _nearest_codes(asyncio.run(say(text)))
        np.savez_compressed(RECORDINGS, allow_pickle=False, **clips)
    finally:
        speech.stop()


app = speech_app(SpokenSession)

if __name__ == "__main__":
    _record()
