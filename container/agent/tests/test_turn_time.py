"""What becomes of a turn over time, on a clock that costs none: a model that pauses, a reader who is slow."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from strands import Agent

from container.agent.request import Request
from container.agent.sentences import SentenceSplitter
from container.agent.settings import Settings
from container.agent.speech import SpeechSession
from container.agent.tests import virtual
from container.agent.tests.scripted import ScriptedModel, Step
from container.agent.tests.serving import checked, kinds, of
from container.agent.tests.test_first_audio import SteadyLink
from container.agent.timeline import Timeline
from container.agent.turn import MAX_CHUNK, SAMPLE_RATE, Event, Turn

MUTE = 10**9
"""Characters in a second of speech, of a voice that has no sound."""


def pause(seconds: float) -> Callable[[], Awaitable[None]]:
    return lambda: asyncio.sleep(seconds)


@dataclass
class Running:
    """A turn that runs, and the end of what belongs to it."""

    turn: Turn
    task: "asyncio.Task[None]"
    speech: SpeechSession
    read: list[Event] = field(default_factory=list)

    async def rest(self) -> list[Event]:
        """Read to the end; return all events."""
        self.read += [event async for event in self.turn.events()]
        await self.task
        await self.speech.close()
        return checked(self.read)


def remembered(turn: Turn) -> list[str]:
    """What the next turn will know: all texts, in order."""
    return [block["text"] for message in turn.memory or [] for block in message["content"]]


def begun(steps: Iterable[Step], *, characters_per_s: int = 15, **request: Any) -> Running:
    """Begin a turn on the running loop."""

    async def open_() -> SteadyLink:
        return SteadyLink(characters_per_s)

    speech = SpeechSession(open_)
    agent = Agent(model=ScriptedModel(list(steps)), callback_handler=None)
    timeline = Timeline("r", clock=asyncio.get_running_loop().time)
    turn = Turn(Request("Tell me.", **request), agent, speech, timeline, Settings())
    return Running(turn, asyncio.create_task(turn.run()), speech)


def test_a_word_that_waits_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    feed = SentenceSplitter.feed

    def counted(splitter: SentenceSplitter, fragment: str) -> list[str]:
        nonlocal looks
        looks += 1
        assert looks < 100, "it looks again and again"
        return feed(splitter, fragment)

    monkeypatch.setattr(SentenceSplitter, "feed", counted)

    async def work() -> list[Event]:
        return await begun(["Let me check", pause(50), " that for you."]).rest()

    events = virtual.run(work())
    assert events[-1]["type"] == "done"
    # the first words were not kept back; the last one may have gone on
    assert [event["text"] for event in of(events, "sentence")] == ["Let me", "check that for you."]


def test_a_batch_is_not_cut_while_the_model_pauses() -> None:
    async def work() -> list[Event]:
        return await begun(["Let me check", pause(50), " that for you."], mode="batch").rest()

    (sentence,) = of(virtual.run(work()), "sentence")
    assert sentence["text"] == "Let me check that for you."


def test_a_text_without_blanks_is_not_kept_back_while_the_model_pauses() -> None:
    async def work() -> list[Event]:
        return await begun(["我们今天去公园玩", pause(50), "。"], voice="zf_xiaobei").rest()

    events = virtual.run(work())
    first, second = of(events, "sentence")
    assert first["text"] + second["text"] == "我们今天去公园玩。"
    assert first["t_ms"] == pytest.approx(4000, abs=1)


def test_what_was_said_before_a_tool_is_spoken_while_its_input_is_still_written() -> None:
    async def work() -> list[Event]:
        running = begun(["Let me check", {"name": "nothing", "input": "{}"}, pause(50)])
        async for event in running.turn.events():
            running.read.append(event)
            if event["type"] == "sentence":
                running.turn.interrupt()
        return checked(running.read)

    (sentence,) = of(virtual.run(work()), "sentence")
    assert sentence["text"] == "Let me check"
    assert sentence["t_ms"] < 1000


def test_a_voice_without_any_audio_is_an_error() -> None:
    async def work(text: str) -> list[Event]:
        return await begun([text], characters_per_s=MUTE).rest()

    *before, last = virtual.run(work("Hello there. How are you?"))
    assert (last["type"], last["code"]) == ("error", "no_audio")
    assert "completed every sentence without any audio" in last["message"]
    assert kinds(before).count("sentence_end") == 2
    assert virtual.run(work("…"))[-1]["type"] == "done"  # there was nothing to speak


@pytest.mark.parametrize("finished", [False, True])
def test_who_is_interrupted_is_not_heard_although_the_reader_is_slow(*, finished: bool) -> None:
    text = "This is a sentence that takes a while to speak, and nobody wants to hear all of it. "

    async def work() -> list[Event]:
        running = begun([text * (1 if finished else 9)])
        events = running.turn.events()
        async for event in events:
            running.read.append(event)
            if event["type"] == "audio_chunk":
                break
        await asyncio.sleep(60)  # by now everything waits that there is room for
        running.turn.interrupt()
        return await running.rest()

    events = virtual.run(work())
    audio = of(events, "audio_chunk")
    assert len(audio) <= 2  # the one before, and one that was on its way
    done = events[-1]
    assert (done["type"], done["interrupted"], done["total_chunks"]) == ("done", True, len(audio))
    assert done["duration_s"] == pytest.approx(len(audio) * MAX_CHUNK / 2 / SAMPLE_RATE)


@pytest.mark.parametrize("heard", [1, 2])
def test_of_an_interrupted_turn_it_is_remembered_what_was_heard(heard: int) -> None:
    sentences = ["One is here.", "Two is there.", "Three is somewhere.", "Four is nowhere."]

    async def work() -> Turn:
        running = begun([" ".join(sentences)])  # a model that has written everything before the first word is spoken
        async for event in running.turn.events():
            running.read.append(event)
            if event["type"] == "audio_chunk" and event["sentence"] == heard - 1:
                break
        running.turn.interrupt()
        await running.rest()
        assert len(of(running.read, "sentence")) == 4
        return running.turn

    assert remembered(virtual.run(work())) == ["Tell me.", " ".join(sentences[:heard])]


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_waits_for_a_slow_reader_is_heard_unless_it_is_taken_back(*, interrupted: bool) -> None:
    async def work() -> Turn:
        running = begun(["One is here. Two is there."])
        async for event in running.turn.events():
            running.read.append(event)
            if event["type"] == "audio_chunk":
                break
        await asyncio.sleep(60)  # all of it has been spoken, and waits
        if interrupted:
            running.turn.interrupt()
        (*_, done) = await running.rest()
        assert done["interrupted"] is interrupted
        return running.turn

    said = "One is here." if interrupted else "One is here. Two is there."
    assert remembered(virtual.run(work())) == ["Tell me.", said]


def test_what_nobody_heard_anything_of_is_not_remembered() -> None:
    async def work() -> Turn:
        running = begun(["One is here. Two is there.", pause(50)])
        async for event in running.turn.events():
            running.read.append(event)
            if event["type"] == "sentence":
                break
        running.turn.interrupt()
        await running.rest()
        return running.turn

    assert virtual.run(work()).memory is None
