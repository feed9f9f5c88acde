"""How long a speech session waits for a container, on a clock that costs no time."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from container.agent.connection import Part
from container.agent.settings import Settings, from_environment
from container.agent.speech import Audio, Event, Finished, SpeechError, SpeechSession
from container.agent.tests import virtual

PCM = bytes(9600)
START, COMPLETE = ({"type": f"synthesis_{kind}"} for kind in ("start", "complete"))

Step = float | bytes | dict[str, str] | SpeechError
"""Seconds of silence, audio, a message, the loss of the session."""
DROP = SpeechError("session_lost", "dropped")


class ScriptedLink:
    """Plays steps when it is asked for the first time, then is silent; letting go of it takes `leaving_s`."""

    def __init__(self, *steps: Step, leaving_s: float = 0.0) -> None:
        self.steps = steps
        self.leaving_s = leaving_s
        self.closed = False
        self.sent: list[str] = []
        self._asked = asyncio.Event()

    async def send(self, data: bytes) -> None:
        """Take a request."""
        self.sent.append(json.loads(data).get("text", "close"))
        self._asked.set()

    async def parts(self) -> AsyncIterator[Part]:
        """Play the steps."""
        await self._asked.wait()
        for step in self.steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif isinstance(step, SpeechError):
                raise step
            else:
                yield Part(step, text=False) if isinstance(step, bytes) else Part(json.dumps(step).encode(), text=True)
        await asyncio.sleep(1e9)

    async def end_input(self) -> None:
        """Nothing to end."""

    async def close(self) -> None:
        """Let go."""
        await asyncio.sleep(self.leaving_s)
        self.closed = True


async def turn(open_: Callable[[], Awaitable[ScriptedLink]], **options: Any) -> tuple[list[Event], str, float]:
    """One sentence: what was heard, the code of the error ("" for none), and after how many seconds that was."""
    loop = asyncio.get_running_loop()
    session = SpeechSession(open_, **options)
    session.say("Hello.")
    session.end_turn()
    events: list[Event] = []
    code = ""
    try:
        async for event in session.events():
            events.append(event)  # noqa: PERF401 - extend() would keep nothing of a turn that fails
    except SpeechError as error:
        code = error.code
    took = loop.time()
    await session.close()
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("speech")] == []
    return events, code, took


def played(*steps: Step, leaving_s: float = 0.0, **options: Any) -> tuple[list[Event], str, float]:
    async def run() -> tuple[list[Event], str, float]:
        link = ScriptedLink(*steps, leaving_s=leaving_s)

        async def open_() -> ScriptedLink:
            return link

        result = await turn(open_, **options)
        assert link.closed
        return result

    return virtual.run(run())


def reopened(*links: ScriptedLink, opening_s: float = 0.0, **options: Any) -> tuple[list[Event], str, float]:
    """One sentence whose session is opened anew, which takes `opening_s`, where it is lost."""
    opened = iter(links)

    async def open_() -> ScriptedLink:
        link = next(opened)
        if link is not links[0]:
            await asyncio.sleep(opening_s)
        return link

    return virtual.run(turn(open_, **options))


def heard(events: list[Event]) -> bytes:
    return b"".join(event.pcm for event in events if isinstance(event, Audio))


@pytest.mark.parametrize(
    ("steps", "audio"),
    [
        ((), b""),
        ((START,), b""),
        ((START, PCM, PCM), PCM * 2),
        ((START, PCM, 0.5, PCM, b"\0"), PCM * 2),  # the first half of a sample is no sign of life
    ],
)
def test_silence_at_any_point_is_told_within_ten_seconds_and_the_audio_is_kept(
    steps: tuple[Step, ...], audio: bytes
) -> None:
    spoken = sum(step for step in steps if isinstance(step, float))
    events, code, took = played(*steps)
    assert code == "no_answer"
    assert heard(events) == audio
    assert spoken < took < spoken + 10


def test_a_session_that_is_never_opened_is_told_within_ten_seconds() -> None:
    async def never() -> ScriptedLink:
        await asyncio.sleep(1e9)
        raise AssertionError

    _, code, took = virtual.run(turn(never))
    assert code == "no_answer"
    assert took < 10


def test_the_error_does_not_wait_for_a_platform_that_does_not_let_go() -> None:
    events, code, took = played(START, PCM, leaving_s=30.0)
    assert (heard(events), code) == (PCM, "no_answer")
    assert took < 10


def test_a_container_that_is_slower_than_speech_is_heard_to_the_end() -> None:
    slowly: list[Step] = [7.5, PCM] * 40  # five minutes for eight seconds of audio
    events, code, took = played(7.5, START, *slowly, 7.5, COMPLETE)
    assert code == ""
    assert heard(events) == PCM * 40
    assert isinstance(events[-1], Finished)
    assert took == pytest.approx(42 * 7.5)


@pytest.mark.parametrize(("limit", "code"), [(30.0, ""), (3.0, "no_answer")])
def test_how_long_is_a_setting(limit: float, code: str) -> None:
    _, got, took = played(START, PCM, 20.0, PCM, COMPLETE, work_timeout_s=limit)
    assert got == code
    assert took == pytest.approx(min(limit, 20.0))


def test_the_agent_has_the_same_limits_and_they_can_be_set() -> None:
    default = Settings()
    assert max(default.speech_timeout_s, default.speech_work_timeout_s) < 10
    given = from_environment({"SPEECH_TIMEOUT_S": "4", "SPEECH_WORK_TIMEOUT_S": "60"})
    assert (given.speech_timeout_s, given.speech_work_timeout_s) == (4, 60)


def test_what_is_said_after_an_error_is_not_sent_to_the_container_that_is_being_left() -> None:
    async def run() -> tuple[list[str], list[str], bytes]:
        links = [ScriptedLink(START, COMPLETE, PCM, leaving_s=5.0), ScriptedLink(START, PCM, COMPLETE)]
        opened = iter(links)

        async def open_() -> ScriptedLink:
            return next(opened)

        session = SpeechSession(open_)
        session.say("One.")
        with pytest.raises(SpeechError, match="though nothing was asked"):
            _ = [event async for event in session.events()]
        session.say("Two.")
        session.end_turn()
        events = [event async for event in session.events()]
        await session.close()
        return links[0].sent, links[1].sent, heard(events)

    assert virtual.run(run()) == (["One."], ["Two.", "close"], PCM)


@pytest.mark.parametrize("first", [(START, 7.5, DROP), (START, PCM, 7.5, DROP)])
def test_a_session_that_is_opened_again_gets_no_more_time_than_the_silence_had_left(first: tuple[Step, ...]) -> None:
    # a second sentence, for there is nothing to open it for where the only one broke off
    async def run() -> tuple[str, float]:
        opened = iter([ScriptedLink(*first), ScriptedLink()])

        async def open_() -> ScriptedLink:
            return next(opened)

        session = SpeechSession(open_)
        session.say("One.")
        session.say("Two.")
        with pytest.raises(SpeechError) as caught:
            _ = [event async for event in session.events()]
        took = asyncio.get_running_loop().time()
        await session.close()
        return caught.value.code, took

    code, took = virtual.run(run())
    assert code == "no_answer"
    assert took == pytest.approx(8.0)


def test_a_session_that_is_opened_again_in_time_is_heard() -> None:
    second = ScriptedLink(START, 5.0, PCM, COMPLETE)
    events, code, took = reopened(ScriptedLink(START, 5.0, DROP), second, opening_s=1.0)
    assert (heard(events), code) == (PCM, "")
    assert took == pytest.approx(11.0)


def test_where_a_container_may_be_silent_for_long_a_lost_session_still_gets_its_time_to_be_opened() -> None:
    links = ScriptedLink(START, 40.0, DROP), ScriptedLink(3.0, START, 40.0, PCM, COMPLETE)
    events, code, _ = reopened(*links, opening_s=3.0, work_timeout_s=60.0)
    assert (heard(events), code) == (PCM, "")


def test_audio_without_an_end_is_an_error() -> None:
    second = bytes(48_000)
    most = 30 + len("Hello.")
    assert played(START, *[second] * most, COMPLETE)[1] == ""
    events, code, _ = played(START, *[second] * (most + 1), COMPLETE)
    assert (code, heard(events)) == ("too_much_audio", second * most)


class EagerLink(ScriptedLink):
    """Sends as fast as it is received, and reads nothing meanwhile, as some containers do."""

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.parts_left = parts
        self.taken = 0
        self._all = asyncio.Event()

    async def send(self, data: bytes) -> None:
        """Take one request; the next ones when all has been sent."""
        if self.sent:
            await self._all.wait()
        await super().send(data)

    async def parts(self) -> AsyncIterator[Part]:
        """Send everything."""
        await self._asked.wait()
        for number in range(self.parts_left):
            self.taken = number + 1
            yield Part(PCM, text=False)
            await asyncio.sleep(0)
            if self.closed:
                return
        self._all.set()
        yield Part(json.dumps(COMPLETE).encode(), text=True)
        await asyncio.sleep(1e9)


@pytest.mark.parametrize("end", ["read", "cancelled", "closed"])
def test_a_container_that_is_faster_than_its_reader_has_to_wait(end: str) -> None:
    count = 20_000  # 192 MB, more than an hour

    async def run() -> None:
        loop = asyncio.get_running_loop()
        link = EagerLink(count)

        async def open_() -> EagerLink:
            return link

        session = SpeechSession(open_)
        session.say("word " * count)
        session.say("And on.")
        session.end_turn()
        events = session.events()
        await anext(events)
        await asyncio.sleep(1000)  # the reader does something else
        assert link.taken * len(PCM) < 4_000_000
        began = loop.time()
        if end == "read":
            got = 1
            async for event in events:
                got += isinstance(event, Audio)
                if isinstance(event, Finished):
                    break
            assert got == count  # and it is not the container that was silent
            await asyncio.sleep(1)
            assert link.sent[1] == "And on."
        elif end == "cancelled":
            await session.cancel()
            assert [event async for event in events] == []
        if end != "read":
            await session.close()
            assert loop.time() - began < 0.5
        await session.close()
        assert link.closed
        assert [task for task in asyncio.all_tasks() if task.get_name().startswith("speech")] == []

    virtual.run(run())


def test_leave_is_taken_of_a_container_that_has_chattered_since_its_last_sentence() -> None:
    class Chatty(ScriptedLink):
        async def parts(self) -> AsyncIterator[Part]:
            """Answer, chatter, and end when that is asked for."""
            await self._asked.wait()
            for step in (START, PCM, COMPLETE, *[{"type": "progress"}] * 20_000):
                yield Part(step, text=False) if isinstance(step, bytes) else Part(json.dumps(step).encode(), text=True)
            while "close" not in self.sent:
                self._asked.clear()
                await self._asked.wait()

    async def run() -> tuple[list[str], float]:
        loop = asyncio.get_running_loop()
        link = Chatty()

        async def open_() -> Chatty:
            return link

        session = SpeechSession(open_)
        session.say("Hello.")
        session.end_turn()
        _ = [event async for event in session.events()]
        await asyncio.sleep(60)
        began = loop.time()
        await session.close()
        return link.sent, loop.time() - began

    sent, took = virtual.run(run())
    assert sent == ["Hello.", "close"]
    assert took < 0.5


def test_silence_after_the_reader_came_back_is_still_an_error() -> None:
    async def run() -> tuple[str, float]:
        link = ScriptedLink(START, *[PCM] * 500)

        async def open_() -> ScriptedLink:
            return link

        session = SpeechSession(open_)
        session.say("word " * 100)

        async def read() -> None:
            async for event in session.events():
                if isinstance(event, Audio):
                    await asyncio.sleep(1)

        with pytest.raises(SpeechError) as caught:
            await read()
        took = asyncio.get_running_loop().time()
        await session.close()
        return caught.value.code, took

    code, took = virtual.run(run())
    assert code == "no_answer"
    assert took == pytest.approx(500 + 8)
