"""The conversation over /ws: raw audio, interruptions."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection

from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.serving import Event, agent, idle, kinds, of
from container.agent.tests.voices import PCM, Endless, Says, Voice

TWO = ["Hello", " there.", " How are", " you?"]


@asynccontextmanager
async def opened(client: httpx.AsyncClient) -> AsyncIterator[ClientConnection]:
    url = str(client.base_url.copy_with(scheme="ws", path="/ws"))
    async with connect(url, compression=None) as socket:
        yield socket


async def say(socket: ClientConnection, **message: Any) -> None:
    await socket.send(json.dumps(message))


async def turn(socket: ClientConnection, *, whole_samples: bool = True) -> tuple[list[Event], bytes]:
    """Read to the end of a turn: its events, and its audio."""
    events: list[Event] = []
    audio = b""
    async for message in socket:
        if isinstance(message, bytes):
            assert len(message) % 2 == 0 or not whole_samples
            assert len(message) <= 32_000  # AgentCore's limit
            audio += message
            continue
        assert len(message) <= 24_000
        events.append(json.loads(message))
        if events[-1]["type"] in ("done", "error"):
            break
    return events, audio


async def test_turns_over_one_socket_share_a_speech_session(in_front: InFront) -> None:
    voice = Voice([PCM, PCM * 20])
    model = ScriptedModel(TWO)
    async with agent(voice, model, in_front) as client:
        async with opened(client) as socket:
            for prompt in ("first", "second"):
                await say(socket, prompt=prompt)
                events, audio = await turn(socket)
                assert audio == PCM * 42
                assert "audio_chunk" not in kinds(events)
                assert [event["text"] for event in of(events, "sentence")] == ["Hello there.", "How are you?"]
                assert len(of(events, "sentence_end")) == 2
                assert (events[-1]["type"], events[-1]["total_chunks"]) == ("done", 18)
            await say(socket, type="close")
            async with asyncio.timeout(10):
                await socket.wait_closed()
            assert socket.close_code == 1000
        await idle(client)
    assert voice.asked == [["Hello there.", "How are you?"] * 2]
    assert [len(call) for call in model.calls] == [1, 3]  # the second turn knows the first


async def test_talking_into_it_stops_it_and_the_next_answer_is_all_new(in_front: InFront) -> None:
    voice = Endless(sessions=1)
    model = ScriptedModel(["A very long story.", " And"], ["Yes?"])
    async with agent(voice, model, in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me a story.")
        async for message in socket:
            if isinstance(message, bytes):
                break
        await say(socket, prompt="Stop!")
        events, _ = await turn(socket)
        assert (events[-1]["type"], events[-1]["interrupted"]) == ("done", True)
        events, audio = await turn(socket)
        assert [event["text"] for event in of(events, "sentence")] == ["Yes?"]
        assert audio == PCM * 2
        assert events[-1]["interrupted"] is False
        async with asyncio.timeout(10):
            await voice.left.wait()
    assert voice.asked == [["A very long story."], ["Yes?"]]
    # the model knows what it was saying
    prompt, said, stop = [block["text"] for message in model.calls[1] for block in message["content"]]
    assert (prompt, stop) == ("Tell me a story.", "Stop!")
    assert said.startswith("A very long story.")


async def test_cancel_stops_and_a_client_that_leaves_ends_everything(in_front: InFront) -> None:
    voice = Endless()
    model = ScriptedModel(["A very long story.", " And"])
    async with agent(voice, model, in_front) as client:
        async with opened(client) as socket:
            for leave in (False, True):
                voice.left.clear()
                await say(socket, prompt="Tell me a story.")
                async for message in socket:
                    if isinstance(message, bytes):
                        break
                if not leave:
                    await say(socket, type="cancel")
                    events, _ = await turn(socket)
                    assert events[-1]["interrupted"] is True
        await idle(client)
        async with asyncio.timeout(10):
            await voice.left.wait()
        assert model.streaming == 0


@pytest.mark.parametrize("message", ['{"type": "ping"}', '{"prompt": "Stop!", "mode": "loud"}', "not json"])
async def test_a_message_that_is_no_prompt_stops_nobody_who_is_speaking(in_front: InFront, message: str) -> None:
    voice = Endless()
    model = ScriptedModel(["A very long story."])
    async with agent(voice, model, in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me a story.")
        heard = 0
        async for answer in socket:
            if isinstance(answer, bytes):
                heard += 1
                if heard == 1:
                    await socket.send(message)
            elif json.loads(answer)["type"] == "error":
                assert json.loads(answer)["code"] == "invalid_request"
                break
        async for answer in socket:
            if isinstance(answer, bytes):  # and on it goes
                break
        await say(socket, type="cancel")
        events, _ = await turn(socket)
        assert (events[-1]["type"], events[-1]["interrupted"]) == ("done", True)


async def test_messages_that_make_no_sense_are_refused_and_nothing_else_happens(in_front: InFront) -> None:
    async with agent(Voice(), ScriptedModel(TWO), in_front) as client, opened(client) as socket:
        for message in ("not json", b"\xff", "[1]", '{"prompt": ""}', '{"type": "cancel"}'):
            await socket.send(message)
        for expected in ("is not a JSON object", "is not a JSON object", "is not a JSON object", "prompt is"):
            (event,), audio = await turn(socket)
            assert (event["type"], event["code"], audio) == ("error", "invalid_request", b"")
            assert expected in event["message"]
        await socket.send(b'{"prompt": "hello"}')  # in a binary frame, as SageMaker's clients do
        events, audio = await turn(socket)
        assert audio == PCM * 4
        assert events[-1]["type"] == "done"


class Halts(Voice):
    """Says one chunk of its first sentence, and no more until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer slowly."""
        del session
        await self.control(connection, "synthesis_start", request_id)
        await connection.send(PCM)
        await self.go_on.wait()
        await self.control(connection, "synthesis_complete", request_id)


async def test_after_a_cancel_the_model_knows_only_what_was_heard(in_front: InFront) -> None:
    model = ScriptedModel(["One is here. Two is there. Three is somewhere. Four is nowhere."], ["Fine."])
    voice = Halts()
    async with agent(voice, model, in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me.")
        seen: set[str] = set()
        async for message in socket:  # all of it has been written, and one sentence is being spoken
            seen.add("audio" if isinstance(message, bytes) else json.loads(message)["type"])
            if {"audio", "text_done"} <= seen:
                break
        await say(socket, type="cancel")
        await turn(socket)
        voice.go_on.set()
        await say(socket, prompt="Go on.")
        events, _ = await turn(socket)
        assert events[-1]["type"] == "done"
    texts = [block["text"] for message in model.calls[1] for block in message["content"]]
    assert texts == ["Tell me.", "One is here.", "Go on."]


async def test_no_frame_is_larger_than_a_socket_of_agentcore_takes(in_front: InFront) -> None:
    complaint = json.dumps({"type": "error", "request_id": "0", "code": "é" * 20_000, "message": "é" * 20_000})
    async with agent(Says(complaint), ScriptedModel(["Hi there."]), in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me.")
        events, _ = await turn(socket)
        assert events[-1]["type"] == "error"
        assert events[-1]["message"].startswith("the speech container answered with an error: ééé")
        assert (events[-1]["message"][-2:], events[-1]["code"][-2:]) == ("é…", "é…")
        await say(socket, prompt="Tell me.", voice="好" * 7_000)
        assert "7000 characters" in (await turn(socket))[0][-1]["message"]
    text = "你好世界。我们走吧。🎉" * 700
    async with agent(Voice([]), ScriptedModel([text]), in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me.", voice="zf_xiaobei")
        events, _ = await turn(socket)
        assert "".join(event["text"] for event in of(events, "text")) == text


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_socket_that_is_closed_speaks_to_the_end_unless_it_is_cancelled(
    in_front: InFront, *, cancelled: bool
) -> None:
    voice = Halts()
    async with agent(voice, ScriptedModel(["Hello there."]), in_front) as client, opened(client) as socket:
        await say(socket, prompt="Tell me.")
        async for message in socket:
            if isinstance(message, bytes):
                break
        await say(socket, type="close")
        if cancelled:
            await say(socket, type="cancel")
        else:
            await say(socket, prompt="Something else.")  # too late
            voice.go_on.set()
        async with asyncio.timeout(20):
            events, _ = await turn(socket)
        assert (events[-1]["type"], events[-1]["interrupted"]) == ("done", cancelled)
        async with asyncio.timeout(10):
            await socket.wait_closed()
        assert socket.close_code == 1000
        voice.go_on.set()


async def test_a_client_that_is_gone_after_its_close_ends_the_turn(in_front: InFront) -> None:
    model = ScriptedModel([asyncio.Event().wait])
    async with agent(Voice(), model, in_front) as client:
        async with opened(client) as socket:
            await say(socket, prompt="Tell me.")
            await anext(aiter(socket))
            await say(socket, type="close")
        await idle(client)
        assert model.streaming == 0
