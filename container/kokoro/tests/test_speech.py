"""Speech without a socket: what an abandoned request still costs, and what is told about one."""

import asyncio
from contextlib import aclosing

import numpy as np
import pytest

from container.kokoro.messages import Utterance
from container.kokoro.pcm import Samples
from container.kokoro.phonemes import Reading
from container.kokoro.speech import Speech
from container.kokoro.tests.client import TIMEOUT_S
from container.kokoro.tests.fakes import FakeEngine, FakeReader


class ThreeRuns(FakeReader):
    """Reads every text as three runs of the model."""

    def read(self, text: str, language: str) -> Reading:
        return Reading(super().read(text, language).runs * 3)


async def test_who_leaves_costs_one_more_run_of_the_model_at_most() -> None:
    engine = FakeEngine()
    speaking = Speech(engine, ThreeRuns())
    delivery = speaking.utter(Utterance("hold"))

    async def hear() -> None:
        async with aclosing(delivery.frames()) as frames:
            async for _ in frames:
                pass

    hearing = asyncio.create_task(hear())
    assert await asyncio.to_thread(engine.holding.wait, TIMEOUT_S)
    hearing.cancel()
    await asyncio.gather(hearing, return_exceptions=True)
    engine.release.set()
    frames = speaking.utter(Utterance("Next.")).frames()  # waits behind what is left of the other
    await anext(frames)
    await frames.aclose()
    speaking.stop()
    assert engine.spoken.count("hold") == 1


class Surrounded(FakeEngine):
    """Surrounds its speech with half a second of silence."""

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        silence = np.zeros(12_000, dtype=np.float32)
        return np.concatenate([silence, super().synthesise(phonemes, voice, speed), silence])


@pytest.mark.parametrize(("text", "silence"), [("One sentence. Another sentence.", 1.0), ("x" * 41 + ".", 0.06)])
async def test_the_silence_between_two_pieces_is_that_of_one_text(text: str, silence: float) -> None:
    speaking = Speech(Surrounded(), FakeReader())
    delivery = speaking.utter(Utterance(text))
    audio = b"".join([frame async for frame in delivery.frames()])
    speaking.stop()
    loud = np.flatnonzero(np.frombuffer(audio, dtype="<i2"))
    assert np.diff(loud).max() / 24_000 == pytest.approx(silence, abs=0.01)
    assert delivery.seconds == pytest.approx(len(audio) / 48_000)
    assert delivery.first_audio_s is not None
    assert delivery.computed_s == pytest.approx(delivery.seconds)
