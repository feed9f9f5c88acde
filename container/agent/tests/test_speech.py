"""The speech session, over the real SDK and the real emulator, in front of scripted containers."""

import asyncio
from typing import Any

import pytest

from container.agent.speech import Audio, Begun, Event, Finished, SpeechError, SpeechSession
from container.agent.tests.conftest import InFront
from container.agent.tests.dialled import dialled
from container.agent.tests.speaking import COMPLETE, START, pcm, speaking, spoken
from container.agent.tests.voices import (
    PCM,
    Endless,
    LeavesAfter,
    Says,
    Tires,
    Voice,
)


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


async def test_a_turn(in_front: InFront) -> None:
    voice = Voice()
    async with speaking(voice, in_front) as session:
        events = await spoken(session, "Hello.", "Ça va ?")
        assert kinds(events) == ["Begun", "Audio", "Audio", "Finished"] * 2
        assert [event.sentence.text for event in events if isinstance(event, Begun)] == ["Hello.", "Ça va ?"]
        assert pcm(events) == PCM * 4
        assert events[-1] == Finished(events[-1].sentence)
    assert voice.asked == [["Hello.", "Ça va ?"]]
    assert voice.requests[0] == {"text": "Hello.", "request_id": "0", "voice": "af_heart"}
    assert voice.kinds == ["text"] * 3  # a container that reads only text is served too
    assert voice.closes == 1


async def test_a_session_is_kept_across_turns(in_front: InFront) -> None:
    voice = Voice()
    async with speaking(voice, in_front) as session:
        for turn in ("One.", "Two.", "Three."):
            assert pcm(await spoken(session, turn)) == PCM * 2
    assert voice.asked == [["One.", "Two.", "Three."]]


@pytest.mark.parametrize("pause", [0.0, 0.3])
async def test_a_session_that_ended_between_turns_is_opened_again(in_front: InFront, pause: float) -> None:
    voice = LeavesAfter(1)
    async with speaking(voice, in_front) as session:
        for turn in ("One.", "Two."):
            assert pcm(await spoken(session, turn)) == PCM * 2
            await asyncio.sleep(pause)  # with and without the loss being seen before the next turn
    assert voice.texts == ["One.", "Two."]


@pytest.mark.parametrize("wait", [False, True])
async def test_a_container_that_tires_of_a_kept_session_is_no_failure(in_front: InFront, *, wait: bool) -> None:
    voice = Tires()
    async with speaking(voice, in_front) as session:
        for turn in ("One.", "Two."):
            voice.tired.clear()
            assert pcm(await spoken(session, turn)) == PCM * 2
            if wait:
                await voice.tired.wait()
    assert voice.texts[0] == "One."
    assert voice.texts[-1] == "Two."


async def test_what_the_container_says_about_the_session_is_the_reason(in_front: InFront) -> None:
    async with speaking(Tires(times=0), in_front) as session:
        with pytest.raises(SpeechError, match="one too many") as caught:
            await spoken(session, "One.")
        assert caught.value.code == "too_many_sessions"


async def test_text_goes_out_while_audio_comes_in(in_front: InFront) -> None:
    async with speaking(Voice(), in_front) as session:
        session.say("One.")
        events = session.events()
        heard = [await anext(events), await anext(events)]
        assert kinds(heard) == ["Begun", "Audio"]
        session.say("Two.")  # as soon as the first audio is there
        session.end_turn()
        rest = [event async for event in events]
        assert kinds(rest) == ["Audio", "Finished", "Begun", "Audio", "Audio", "Finished"]


async def test_a_container_that_does_not_read_while_it_speaks_is_no_deadlock(in_front: InFront) -> None:
    voice = Voice([bytes(65_536)] * 60)  # 4 MB for each sentence: more than all buffers on the way hold
    texts = ["word " * 13_000 for _ in range(6)]  # and 64 kB each to it
    async with speaking(voice, in_front) as session:
        for text in texts:
            session.say(text)
        session.end_turn()
        heard = 0
        async for event in session.events():
            if isinstance(event, Audio):
                heard += len(event.pcm)
                await asyncio.sleep(0)
        assert heard == 6 * 60 * 65_536
    assert voice.texts == texts


async def test_what_is_not_read_is_not_sent_by_the_container(in_front: InFront) -> None:
    class Eager(Voice):
        async def answer(self, *arguments: Any) -> None:
            await super().answer(*arguments)
            sent.set()

    sent = asyncio.Event()
    count = 600  # 39 MB: more than the buffers of emulator and sockets take
    async with speaking(Eager([bytes(65_536)] * count), in_front) as session:
        session.say("word " * 1000)
        session.end_turn()
        heard = 0
        async for event in session.events():
            if isinstance(event, Audio) and not heard:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(3):
                        await sent.wait()
            heard += isinstance(event, Audio) and len(event.pcm)
        assert heard == count * 65_536


async def test_odd_pieces_become_whole_samples(in_front: InFront) -> None:
    pieces = [PCM[:4063], PCM[4063:4064], PCM[4064:5761], b"", PCM[5761:]]
    async with speaking(Voice(pieces), in_front) as session:
        events = await spoken(session, "Hello.")
        assert pcm(events) == PCM
        assert all(len(event.pcm) % 2 == 0 and event.pcm for event in events if isinstance(event, Audio))


async def test_half_a_sample_does_not_shift_the_next_sentence(in_front: InFront) -> None:
    async with speaking(Voice([PCM + b"!"]), in_front) as session:
        assert pcm(await spoken(session, "One.", "Two.")) == PCM * 2


async def test_audio_that_begins_like_json_stays_audio(in_front: InFront) -> None:
    chunks = [b'{"type": "synthesis_complete"', b"{}x{", b'["type"]', b"{\xff}\x00"]
    async with speaking(Voice(chunks), in_front) as session:
        assert pcm(await spoken(session, "Hello.")) == b"".join(chunks)[:-1]  # 47 bytes: the last is half a sample


async def test_control_in_binary_frames_and_in_two_parts_is_control(in_front: InFront) -> None:
    half = len(COMPLETE) // 2
    answers: list[list[str | bytes]] = [
        [START, PCM, b'{"type":"synthesis_complete"}'],
        [START, PCM, COMPLETE[:half], COMPLETE[half:]],
        [START, '{"type":"progress","percent":50}', PCM, COMPLETE],
    ]
    for frames in answers:
        async with speaking(Says(*frames), in_front) as session:
            assert pcm(await spoken(session, "Hello.")) == PCM


async def test_cancelling_stops_within_a_chunk_and_leaves_the_container(in_front: InFront) -> None:
    voice = Endless()
    async with speaking(voice, in_front) as session:
        session.say("A very long story.")
        session.say("And another one.")
        heard = 0
        async for event in session.events():
            heard += isinstance(event, Audio)
            if heard == 3:
                await session.cancel()
        assert heard == 3
        async with asyncio.timeout(10):
            await voice.left.wait()
        assert voice.texts == ["A very long story."]


async def test_after_a_cancel_nothing_old_is_spoken(in_front: InFront) -> None:
    voice = Voice()
    async with speaking(voice, in_front) as session:
        session.say("Old.")
        events = session.events()
        await anext(events)
        await session.cancel()
        assert [event async for event in events] == []
        new = await spoken(session, "New.")
        assert {event.sentence.text for event in new} == {"New."}
        assert pcm(new) == PCM * 2


async def test_a_reader_that_is_cancelled_leaves_nothing_behind(in_front: InFront) -> None:
    voice = Endless()
    async with speaking(voice, in_front) as session:
        session.say("A very long story.")
        started = asyncio.Event()

        async def listen() -> None:
            async for _ in session.events():
                started.set()

        task = asyncio.create_task(listen())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await session.close()
        async with asyncio.timeout(10):
            await voice.left.wait()


async def test_a_turn_without_sentences_opens_nothing(in_front: InFront) -> None:
    voice = Voice()
    async with speaking(voice, in_front) as session:
        assert await spoken(session) == []
    assert voice.asked == []


async def test_a_session_can_be_opened_before_there_is_anything_to_say(in_front: InFront) -> None:
    voice = Voice()
    async with speaking(voice, in_front) as session:
        session.open()
        async with asyncio.timeout(20):
            await voice.entered.wait()
        assert pcm(await spoken(session, "Hello.")) == PCM * 2
    assert voice.asked == [["Hello."]]


async def test_without_an_address_the_service_is_called_on_its_streaming_port(monkeypatch: pytest.MonkeyPatch) -> None:
    called = dialled(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    session = SpeechSession.to("voice", "eu-west-1")
    with pytest.raises(SpeechError, match=r"endpoint 'voice' did not open a session: .*no network here"):
        await spoken(session, "Hello.")
    await session.close()
    assert called == ["runtime.sagemaker.eu-west-1.amazonaws.com:8443"]
