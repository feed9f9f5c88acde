"""Speech without a socket: what an abandoned request still costs, and what is told about one."""
# ruff: noqa: RUF001  # phonetic symbols are what is tested

import asyncio
import threading
from contextlib import aclosing

import numpy as np
import pytest

from container.kokoro.messages import Utterance
from container.kokoro.pace import Outlook
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.phonemes import Phonemizer, Reading
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


class Stepwise(FakeEngine):
    """Computes one run for each `step`; `now` is the clock, which a test moves."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.begun = threading.Semaphore(0)
        self.steps = threading.Semaphore(0)

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        self.begun.release()
        assert self.steps.acquire(timeout=TIMEOUT_S)
        return super().synthesise(phonemes, voice, speed)

    async def step(self, seconds: float) -> None:
        """Let the run under way end after so many seconds, and wait for the next one to begin."""
        self.now += seconds
        self.steps.release()
        assert await asyncio.to_thread(self.begun.acquire, timeout=TIMEOUT_S)


@pytest.mark.parametrize("seconds", [0.1, 10.0], ids=["listeners ahead", "listeners dry"])
async def test_long_texts_do_not_starve_a_short_one_even_when_all_have_to_wait(seconds: float) -> None:
    engine = Stepwise()
    speaking = Speech(engine, FakeReader(), clock=lambda: engine.now)
    long = 2

    async def hear(text: str) -> None:
        async for _ in speaking.utter(Utterance(text)).frames():
            pass

    async def waiting(number: int) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while speaking.waiting != number:  # noqa: ASYNC110  # the worker's thread changes it
                await asyncio.sleep(0.001)

    hearing = [asyncio.create_task(hear(f"This is text number {number}. " * 50)) for number in range(long)]
    assert await asyncio.to_thread(engine.begun.acquire, timeout=TIMEOUT_S)
    for _ in range(8):
        await waiting(long - 1)
        await engine.step(seconds)
    await waiting(long - 1)
    hearing.append(asyncio.create_task(hear("Short.")))
    await waiting(long)
    before = len(engine.spoken)
    for _ in range(long + 2):
        await engine.step(seconds)
    assert "Short." in engine.spoken[before : before + long + 1]
    for task in hearing:
        task.cancel()
    await asyncio.gather(*hearing, return_exceptions=True)
    for _ in range(3):
        engine.steps.release()
    speaking.stop()


class Paced(FakeEngine):
    """Takes `factor` seconds, on a clock of its own, for each second of audio; but 100 times as long the first time."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor
        self.now = 0.0

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        samples = super().synthesise(phonemes, voice, speed)
        self.now += self._factor * len(samples) / MODEL_RATE * (1 if self.now else 100)
        return samples


FIRST = "The opening clause is here, and then comes all the long rest of what we have to say today."
TEXT = FIRST + " The next sentence is as long as the one before it, and has nothing new to tell to anyone either."


@pytest.mark.parametrize(
    ("factor", "opening", "dry"), [(0.1, "The opening clause is here,", False), (0.9, None, False), (1.5, None, True)]
)
async def test_the_opening_follows_the_measured_pace(factor: float, opening: str | None, *, dry: bool) -> None:
    engine = Paced(factor)
    speaking = Speech(engine, FakeReader(), clock=lambda: engine.now)
    speaking.warm_up()
    assert speaking.factor == pytest.approx(factor * 1.5)
    delivery = speaking.utter(Utterance(TEXT))
    async for _ in delivery.frames():
        pass
    speaking.stop()
    assert engine.spoken[0] == (opening or FIRST)
    assert (delivery.dry_s > 0) == dry
    assert speaking.factor == pytest.approx(factor, rel=0.4)


async def test_pieces_side_by_side_share_out_what_they_took() -> None:
    class Pair(FakeEngine):
        """Two runs meet in it, and both take a second for a second of audio: half a second each, if they were alone."""

        now = 0.0
        both = threading.Barrier(2)

        def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
            samples = super().synthesise(phonemes, voice, speed)
            self.both.wait(TIMEOUT_S)
            self.now = len(samples) / MODEL_RATE
            self.both.wait(TIMEOUT_S)
            return samples

    engine = Pair(together=2)
    speaking = Speech(engine, FakeReader(), clock=lambda: engine.now)

    async def hear() -> None:
        async for _ in speaking.utter(Utterance("One sentence.")).frames():
            pass

    await asyncio.gather(hear(), hear())
    speaking.stop()
    assert 0.4 <= speaking.factor <= 0.8


async def spoken(text: str, voice: str = "af_heart") -> list[str]:
    """Return what is spoken of `text`, piece by piece."""
    engine = FakeEngine(voice_names=["af_heart", "ef_dora"])
    speaking = Speech(engine, FakeReader())
    async for _ in speaking.utter(Utterance(text, voice)).frames():
        pass
    speaking.stop()
    return engine.spoken


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("1. Buy milk\n2. Buy eggs", ["Buy milk", "Buy eggs"]),
        ("Please:\n1. Buy milk\n2. Buy eggs", ["Please:", "Buy milk", "Buy eggs"]),
        ('<p style="color: red; font-size: 12px">Hello</p> there', ["Hello", "there"]),
        ("[Read on. It helps](https://example.com) today.", ["Read on.", "It helps today."]),
        ("**One sentence. Another one.**", ["One sentence.", "Another one."]),
        ("<!-- Not. For. Ears. -->Hello.", ["Hello."]),
        ("Fish &amp; chips.", ["Fish & chips."]),
        ("```python\n```", []),
        ("---", []),
    ],
)
async def test_markup_is_gone_before_a_text_is_cut(text: str, pieces: list[str]) -> None:
    assert await spoken(text) == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The answer is\n42. Now you know.", ["The answer is", "42.", "Now you know."]),
        ("&lt;b&gt; is a tag.", ["<b> is a tag."]),
    ],
)
async def test_what_only_looks_like_markup_is_spoken(text: str, pieces: list[str]) -> None:
    assert await spoken(text) == pieces


async def test_a_piece_that_begins_like_a_list_item_is_read_whole(phonemizer: Phonemizer) -> None:
    words = "We counted all of the apples in the big basket that stood beside the old door of the house, "
    text = f"{words}3) {words * 2}and went home."
    engine = FakeEngine()
    speaking = Speech(engine, phonemizer)
    async for _ in speaking.utter(Utterance(text)).frames():
        pass
    speaking.stop()
    assert "θɹˈi" in " ".join(engine.spoken)


async def test_texts_are_looked_at_one_at_a_time_and_the_loop_turns_between_them() -> None:
    turns, planned = 0, []

    class Watched(Speech):
        def outlook(self, utterance: Utterance) -> Outlook:
            planned.append(turns)
            return super().outlook(utterance)

    speaking = Watched(FakeEngine(), FakeReader())

    async def hear() -> None:
        async for _ in speaking.utter(Utterance("One sentence. Another one.")).frames():
            pass

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    await asyncio.gather(*(hear() for _ in range(8)))
    counting.cancel()
    speaking.stop()
    assert len(planned) == len(set(planned)) == 16


LONG_URL = "https://docs.example.com/library/some-long-page/and-another-part?with=a&query=too"
READ = "docs dot example dot com slash library slash some dash long dash page slash and dash another dash part"


async def test_an_address_is_read_before_it_could_be_cut() -> None:
    assert await spoken(f"Look:\n{LONG_URL}\nThanks.") == ["Look:", READ, "Thanks."]
    assert await spoken("an.address.that.is.longer.than.forty.letters@mail.example.com") == [
        "an dot address dot that dot is dot longer dot than dot forty dot letters at mail dot example dot com"
    ]
    assert "dot" not in " ".join(await spoken(LONG_URL, "ef_dora")), "its words would be English"
