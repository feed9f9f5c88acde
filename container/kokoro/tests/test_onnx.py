"""The real model. Durations are compared, never samples: the model's noise differs from machine to machine."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from container.kokoro import languages
from container.kokoro.engine import Engine, threads
from container.kokoro.errors import SetupError
from container.kokoro.messages import Utterance
from container.kokoro.onnx_engine import OnnxEngine
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.phonemes import Phonemizer
from container.kokoro.speech import Speech
from container.kokoro.vocabulary import MAX_PHONEMES
from container.kokoro.weights import Weights


async def say(engine: Engine, phonemizer: Phonemizer, utterance: Utterance) -> bytes:
    speech = Speech(engine, phonemizer)
    try:
        return b"".join([frame async for frame in speech.utter(utterance).frames()])
    finally:
        speech.stop()


def seconds(audio: bytes) -> float:
    return len(audio) / 48_000


def test_all_voices_whose_language_can_be_read(onnx: Engine) -> None:
    assert len([name for name in onnx.voice_names if name[0] in "ab"]) == 28
    readable = [key for key in languages.NAMES if languages.is_available(key)]
    assert {name[0] for name in onnx.voice_names} == set(readable)
    if len(readable) == len(languages.NAMES):
        assert len(onnx.voice_names) == 54


async def test_a_sentence_has_the_length_and_loudness_of_speech(onnx: Engine, phonemizer: Phonemizer) -> None:
    audio = await say(onnx, phonemizer, Utterance("The quick brown fox jumps over the lazy dog near the river bank."))
    numbers = np.frombuffer(audio, dtype="<i2")
    assert 3.0 < seconds(audio) < 7.0
    assert 0.02 < np.sqrt(np.mean((numbers / 32767) ** 2)) < 0.5
    assert np.abs(numbers).max() / 32767 > 0.1


@pytest.mark.skipif(not languages.is_available("z"), reason="the extra 'languages' is not installed")
async def test_mandarin_and_a_blend_are_spoken(onnx: Engine, phonemizer: Phonemizer) -> None:
    mandarin = await say(onnx, phonemizer, Utterance("今天天气很好。", voice="zf_xiaoxiao"))
    blend = await say(onnx, phonemizer, Utterance("Hello there.", voice="af_heart(2)+am_adam"))
    for audio, low, high in ((mandarin, 0.8, 5.0), (blend, 0.5, 3.0)):
        assert low < seconds(audio) < high
        assert np.abs(np.frombuffer(audio, dtype="<i2")).max() / 32767 > 0.1


async def test_speed_and_rate(onnx: Engine, phonemizer: Phonemizer) -> None:
    text = "A sentence of medium length."
    plain = seconds(await say(onnx, phonemizer, Utterance(text)))
    fast = seconds(await say(onnx, phonemizer, Utterance(text, speed=2.0)))
    low = seconds(await say(onnx, phonemizer, Utterance(text, sample_rate=8_000))) * 3
    assert 0.35 < fast / plain < 0.75
    assert low == pytest.approx(plain, rel=0.02)


async def test_voices_differ(onnx: Engine, phonemizer: Phonemizer) -> None:
    def brightness(audio: bytes) -> float:
        spectrum = np.abs(np.fft.rfft(np.frombuffer(audio, dtype="<i2").astype(float)))
        frequencies = np.fft.rfftfreq(len(audio) // 2, 1 / 24_000)
        low = (frequencies > 60) & (frequencies < 400)
        return float((frequencies[low] * spectrum[low]).sum() / spectrum[low].sum())

    text = "Good morning, how are you all today?"
    woman, man, briton = [
        await say(onnx, phonemizer, Utterance(text, voice=voice)) for voice in ("af_heart", "am_onyx", "bf_emma")
    ]
    assert len({len(woman), len(man), len(briton)}) > 1
    assert brightness(man) < brightness(woman)


async def test_long_text_without_punctuation_is_not_cut_off(onnx: Engine, phonemizer: Phonemizer) -> None:
    words = "we walked along the quiet river and talked about the weather until evening came "
    text = words * 8
    runs = phonemizer.read(text, "a").runs
    assert sum(map(len, runs)) > MAX_PHONEMES
    assert all(len(run) <= MAX_PHONEMES for run in runs)
    one, two = [seconds(await say(onnx, phonemizer, Utterance(words * count, speed=2.0))) for count in (4, 8)]
    assert 1.6 < two / one < 2.4


def test_the_longest_run_is_spoken(onnx: Engine) -> None:
    assert len(onnx.synthesise("hɛlp, " * (MAX_PHONEMES // 6), "af_heart", 2.0)) > 24_000


async def test_a_request_leaves_the_loop_free(onnx: Engine, phonemizer: Phonemizer) -> None:
    speaking = asyncio.ensure_future(say(onnx, phonemizer, Utterance("This is a sentence that takes a while.")))
    turns = 0
    longest = 0.0
    # processor time of this thread: a wait for a busy machine is not the container's
    last = time.thread_time()
    while not speaking.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
        turns += 1
    assert turns > 5
    assert longest < 0.25, "SageMaker wants a connection accepted within 250 ms"


class Slowed:
    """The real model on a clock of its own, on which it takes `factor` seconds for each second of audio."""

    together = 1

    def __init__(self, model: Engine, factor: float) -> None:
        self.description, self.voice_names = model.description, model.voice_names
        self._model = model
        self._factor = factor
        self.now = 0.0
        self.took: list[float] = []

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        samples = self._model.synthesise(phonemes, voice, speed)
        self.took.append(self._factor * len(samples) / MODEL_RATE)
        self.now += self.took[-1]
        return samples


@pytest.mark.parametrize(("factor", "within_s"), [(0.3, 0.8), (0.56, 2.6), (0.9, 5.5)])
async def test_who_listens_in_real_time_hears_an_opening_as_early_as_the_engine_allows_and_no_gap(
    onnx: Engine, phonemizer: Phonemizer, factor: float, within_s: float
) -> None:
    text = (
        "Thank you for calling, your order left our warehouse this morning and is on its way to you. You can follow it "
        "online, or ask me again tomorrow."
    )
    model = Slowed(onnx, factor)
    speech = Speech(model, phonemizer, clock=lambda: model.now)
    speech.warm_up()
    delivery = speech.utter(Utterance(text))
    async for _ in delivery.frames():
        pass
    speech.stop()
    assert delivery.dry_s == 0
    assert 6 < delivery.seconds < 12
    opening, *rest = model.took[2:]  # the warm-up spoke twice
    assert opening < within_s
    assert len(rest) >= 1


def test_a_file_that_is_no_model(weights: Weights) -> None:
    wrong = Weights(weights.voices / "af_heart.bin", weights.config, weights.voices, "test", "0")
    with pytest.raises(SetupError, match=r"af_heart.bin is no model that ONNX Runtime can load"):
        OnnxEngine(wrong)


def test_its_runtime_reports_nothing_and_marks_no_machine(tmp_path: Path) -> None:
    quiet = ("ORT_DISABLE_TELEMETRY", "CI")  # either would hide what is looked for
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    subprocess.run(
        [sys.executable, "-c", "import container.kokoro.onnx_engine"],
        env={**environment, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        check=True,
        timeout=60,
    )
    assert list(tmp_path.rglob("*")) == []  # without the setting there is a device id, and a store of events to be sent


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KOKORO_THREADS", raising=False)
    assert 1 <= threads() <= 4
    monkeypatch.setenv("KOKORO_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("KOKORO_THREADS", "many")
    with pytest.raises(SetupError, match="KOKORO_THREADS is 'many'"):
        threads()
