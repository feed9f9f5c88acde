"""Speech sessions that are lost, fall silent or speak nonsense, over the real SDK and the real emulator."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from container.agent.speech import Begun, Event, Finished, SpeechError, SpeechSession
from container.agent.tests.conftest import InFront
from container.agent.tests.speaking import COMPLETE, START, pcm, speaking, spoken
from container.agent.tests.voices import (
    PCM,
    Chatters,
    ClosesEarly,
    DropsAfter,
    Says,
    silent,
)


async def collect(session: SpeechSession, events: list[Event]) -> None:
    """Read a turn that fails; what came before is kept."""
    async for event in session.events():
        events.append(event)  # noqa: PERF401 - extend() would keep nothing of a turn that fails


@asynccontextmanager
async def listening() -> AsyncIterator[str]:
    """Something that takes TCP connections and says nothing."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        for writer in writers:
            writer.close()
        server.close()


async def test_a_lost_session_is_opened_once_more_and_nothing_is_said_twice(in_front: InFront) -> None:
    voice = DropsAfter(1)
    async with speaking(voice, in_front) as session:
        events = await spoken(session, "One.", "Two.", "Three.")
        assert [event.sentence.text for event in events if isinstance(event, Begun)] == ["One.", "Two.", "Three."]
        assert pcm(events) == PCM * 6
    assert voice.asked[1] == ["Two.", "Three."]


async def test_what_was_partly_heard_is_not_said_again_and_the_turn_ends_with_an_error(in_front: InFront) -> None:
    voice = ClosesEarly(times=1)
    async with speaking(voice, in_front) as session:
        for sentence in ("One.", "Two."):
            session.say(sentence)
        session.end_turn()
        events: list[Event] = []
        with pytest.raises(SpeechError, match="ended the session before it had spoken everything"):
            await collect(session, events)
        assert [(event.sentence.text, event.complete) for event in events if isinstance(event, Finished)] == [
            ("One.", False),
            ("Two.", True),
        ]
        assert pcm(events) == PCM * 4
        assert pcm(await spoken(session, "Next turn.")) == PCM * 2
    assert voice.asked[1] == ["Two.", "Next turn."]


async def test_a_container_that_closes_early_again_and_again_is_an_error_after_the_second_time(
    in_front: InFront,
) -> None:
    voice = ClosesEarly()
    async with speaking(voice, in_front) as session:
        for sentence in ("One.", "Two.", "Three."):
            session.say(sentence)
        events: list[Event] = []
        with pytest.raises(SpeechError, match="ended the session"):
            await collect(session, events)  # though the turn is not ended: more text might come for a long time
        assert pcm(events) == PCM * 4
    assert [session[0] for session in voice.asked] == ["One.", "Two."]


async def test_a_container_that_never_answers_is_an_error_in_time(in_front: InFront) -> None:
    async with speaking(silent, in_front, answer_timeout_s=0.5) as session:
        began = time.monotonic()
        with pytest.raises(SpeechError, match=r"answer within 0\.5 s") as caught:
            await spoken(session, "Hello.")
        assert caught.value.code == "no_answer"
        assert time.monotonic() - began < 10


async def test_a_container_that_never_opens_its_socket_is_an_error_in_time(in_front: InFront) -> None:
    async with asyncio.timeout(30), listening() as url:
        in_front(url)
        session = SpeechSession.to("voice", "us-west-2", answer_timeout_s=0.5)
        with pytest.raises(SpeechError, match=r"session was not opened: no answer within 0\.5 s|refused"):
            await spoken(session, "Hello.")
        await session.close()


async def test_silence_after_the_first_audio_is_an_error_and_the_audio_is_kept(in_front: InFront) -> None:
    async with speaking(Says(START, PCM), in_front, work_timeout_s=0.5) as session:
        session.say("Hello.")
        events: list[Event] = []
        with pytest.raises(SpeechError, match="did not answer"):
            await collect(session, events)
        assert pcm(events) == PCM


@pytest.mark.parametrize("kind", ["heartbeat", "synthesis_start"])
async def test_messages_that_mean_nothing_are_no_answer(in_front: InFront, kind: str) -> None:
    limits = {"answer_timeout_s": 2.0, "work_timeout_s": 0.5}  # the first includes that the session is opened
    async with speaking(Chatters(kind), in_front, **limits) as session:
        with pytest.raises(SpeechError, match="did not answer"):
            await spoken(session, "Hello.")


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (["not json"], "a text that is not a JSON object: 'not json'"),
        (["[1, 2]"], "a text that is not a JSON object"),
        (['{"type":"error","request_id":"{id}","message":"no such voice","code":"invalid_voice"}'], "no such voice"),
        ([START, PCM, '{"type":"synthesis_complete","request_id":"77"}'], "answered request '77', expected was '0'"),
        ([START, COMPLETE, PCM], "9600 bytes of audio though nothing was asked|ended"),
    ],
)
async def test_garbage_is_a_clear_error_and_the_next_turn_works(
    in_front: InFront, frames: list[str | bytes], message: str
) -> None:
    voice = Says(*frames)
    async with speaking(voice, in_front) as session:
        session.say("Hello.")
        with pytest.raises(SpeechError, match=message):
            await collect(session, [])
        voice.frames = (START, PCM, COMPLETE)
        assert pcm(await spoken(session, "Next.")) == PCM


async def test_an_endpoint_that_is_not_there_is_a_clear_error(in_front: InFront) -> None:
    in_front("http://127.0.0.1:9")
    for endpoint, message in (("voice", "refused the session"), ("other", "did not open a session")):
        session = SpeechSession.to(endpoint, "us-west-2")
        with pytest.raises(SpeechError, match=message):
            await spoken(session, "Hello.")
        await session.close()


async def test_a_client_that_cannot_be_made_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError("no authority can be read")

    monkeypatch.setattr("container.agent.connection.Transport", refuse)
    session = SpeechSession.to("voice", "us-west-2")
    with pytest.raises(SpeechError, match="endpoint 'voice' did not open a session: no authority can be read"):
        await spoken(session, "Hello.")
    await session.close()
