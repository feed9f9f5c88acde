"""Sessions over real sockets, on uvicorn and on hypercorn; `served` runs each test on both."""
# ruff: noqa: RUF001  # CJK punctuation is a text to speak

import asyncio
import json
import logging
import socket
import struct

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from container.kokoro import outbox, session
from container.kokoro.model import Model
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry
from container.kokoro.tests.client import TIMEOUT_S, Answer, answer, ask, control, receive
from container.kokoro.tests.conftest import Served, serve
from container.kokoro.tests.fakes import SECONDS_A_CHARACTER, FakeEngine, speech
from container.kokoro.tests.servers import SERVERS
from container.kokoro.tests.servers import session as open_session

GOOD = {"text": "Hello there.", "request_id": "good"}
LONG = "One sentence. " * 200


def assert_good(got: Answer, request_id: object = "good") -> None:
    assert got.kinds == ["synthesis_start", "synthesis_complete"]
    assert [c["request_id"] for c in got.controls] == [request_id, request_id]
    assert abs(len(got.audio) / 48_000 - got.last["total_duration_s"]) < 0.001
    assert got.last["total_duration_s"] > 0
    assert all(len(frame) % 2 == 0 and len(frame) <= 12_000 for frame in got.frames)


async def test_text_and_binary_frames(served: Served) -> None:
    async with open_session(served.port) as ws:
        assert_good(await ask(ws, json.dumps(GOOD)))
        assert_good(await ask(ws, json.dumps(GOOD).encode()))


async def test_duration_speed_rate_and_voice(served: Served) -> None:
    async with open_session(served.port) as ws:
        plain = await ask(ws, GOOD)
        assert plain.last["total_duration_s"] == pytest.approx(len("Hello there.") * SECONDS_A_CHARACTER, abs=1e-4)
        assert len((await ask(ws, GOOD | {"speed": 2})).audio) * 2 == len(plain.audio)
        assert len((await ask(ws, GOOD | {"sample_rate": 8000})).audio) * 3 == len(plain.audio)
        other = await ask(ws, GOOD | {"voice": "am_michael"})
        assert len(other.audio) == len(plain.audio)
        assert other.audio != plain.audio


@pytest.mark.parametrize(
    "bad",
    [
        "not json", "", b"", b"\x00\x01", b"\xff", "[1]", "3", "{}", '{"type": "Reset"}', '{"text": ""}',
        '{"text": "x", "voice": []}', '{"text": "x", "speed": "fast"}', '{"text": "x", "speed": NaN}',
        '{"text": "x", "voice": "nosuch"}', '{"text": "x", "sample_rate": 1}', '{"text": {}}',
    ],
)  # fmt: skip
async def test_a_bad_message_gets_one_error_and_the_session_lives(served: Served, bad: str | bytes) -> None:
    async with open_session(served.port) as ws:
        await ws.send(bad)
        await ws.send(json.dumps(GOOD))
        failed = await answer(ws)
        assert failed.kinds == ["error"]
        assert failed.last["code"]
        assert failed.last["message"]
        assert_good(await answer(ws))
    assert served.engine.spoken == []


async def test_a_text_frame_that_is_no_utf8_closes_with_1007_and_the_next_session_works(served: Served) -> None:
    async with open_session(served.port) as ws:
        await ws.send(b"\xff", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            await receive(ws)
        # hypercorn drops the connection instead: out of the application's hands
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1007
    async with open_session(served.port) as ws:
        assert_good(await ask(ws, GOOD))


@pytest.mark.parametrize("text", [" ", "...", "。！？ ", ".\n.\n.", "😀", "—", "\u00a0"])
async def test_nothing_to_speak_completes_without_audio(served: Served, text: str) -> None:
    async with open_session(served.port) as ws:
        got = await ask(ws, {"text": text, "request_id": 1})
        assert got.kinds == ["synthesis_start", "synthesis_complete"]
        assert got.frames == []
        assert got.last["total_duration_s"] == 0.0
        assert "unspoken_characters" not in got.last
        assert_good(await ask(ws, GOOD))


async def test_letters_without_a_reading_are_owned_up_to(served: Served) -> None:
    async with open_session(served.port) as ws:
        assert (await ask(ws, {"text": "你好 you"})).last["unspoken_characters"] == 2


async def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    async with open_session(served.port) as ws:
        for number in range(20):
            await ws.send(json.dumps({"text": f"Number {number}.", "request_id": number}))
            await ws.send("bad")
        for number in range(20):
            assert_good(await answer(ws), number)
            assert (await answer(ws)).last["code"] == "invalid_json"


async def test_the_first_sentence_is_heard_before_the_second_is_spoken(served: Served) -> None:
    async with open_session(served.port) as ws:
        await ws.send(json.dumps({"text": "First one. Then hold on."}))
        assert (await control(ws))["type"] == "synthesis_start"
        assert isinstance(await receive(ws), bytes)
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        served.engine.release.set()
        assert (await answer(ws)).kinds == ["synthesis_complete"]


@pytest.mark.parametrize("switch", ["on", "off"])
async def test_a_long_first_sentence_is_heard_from_its_first_clause_on_where_that_is_switched_on(switch: str) -> None:
    with serve(Settings(first_clause=switch)) as served:
        async with open_session(served.port) as ws:
            await ws.send(
                json.dumps({"text": "The opening clause is here, and then we hold the rest of it for a while."})
            )
            assert (await control(ws))["type"] == "synthesis_start"
            if switch == "on":
                assert isinstance(await receive(ws), bytes)
            assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
            served.engine.release.set()
            assert (await answer(ws)).kinds == ["synthesis_complete"]
        assert len(served.engine.spoken) == (2 if switch == "on" else 1)


async def test_close_finishes_what_was_asked_then_closes_with_1000(served: Served) -> None:
    async with open_session(served.port) as ws:
        for number in range(3):
            await ws.send(json.dumps({"text": f"Number {number}.", "request_id": number}))
        await ws.send('{"type": "close"}')
        for number in range(3):
            assert_good(await answer(ws), number)
        with pytest.raises(ConnectionClosed) as closed:
            await receive(ws)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000


async def test_messages_after_close_are_refused(served: Served) -> None:
    async with open_session(served.port) as ws:
        await ws.send('{"text": "hold"}')
        assert (await control(ws))["type"] == "synthesis_start"
        await ws.send('{"type": "close"}')
        await ws.send(json.dumps(GOOD))
        refused = await control(ws)
        assert (refused["code"], refused["request_id"]) == ("closing", "good")
        served.engine.release.set()
        assert (await answer(ws)).kinds == ["synthesis_complete"]
        with pytest.raises(ConnectionClosed):
            await receive(ws)


@pytest.mark.parametrize("server", SERVERS)
async def test_a_full_queue_refuses_and_the_session_lives(server: str) -> None:
    with serve(Settings(max_queued=5), server) as served:
        await _fill_the_queue(served, 5)


async def _fill_the_queue(served: Served, room: int) -> None:
    async with open_session(served.port) as ws:
        await ws.send('{"text": "hold"}')
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        for number in range(room + 2):
            await ws.send(json.dumps({"text": "x", "request_id": number}))
        assert (await control(ws))["type"] == "synthesis_start"
        for number in (room, room + 1):
            refused = await control(ws)
            assert (refused["code"], refused["request_id"]) == ("queue_full", number)
        served.engine.release.set()
        assert (await answer(ws)).kinds == ["synthesis_complete"]
        for number in range(room):
            assert_good(await answer(ws), number)
        assert_good(await ask(ws, GOOD))


@pytest.mark.parametrize("server", SERVERS)
async def test_overload_is_refused_at_the_start_only(server: str) -> None:
    with serve(Settings(max_waiting=1), server) as served:
        await _overload(served)


async def _overload(served: Served) -> None:
    async with open_session(served.port) as one, open_session(served.port) as two, open_session(served.port) as three:
        await one.send('{"text": "hold. Then more. And more."}')
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        await two.send(json.dumps(GOOD))
        assert (await control(two))["type"] == "synthesis_start"
        refused = await ask(three, {"text": "x", "request_id": 3})
        assert (refused.last["code"], refused.last["request_id"]) == ("overloaded", 3)
        served.engine.release.set()
        assert (await answer(one)).kinds == ["synthesis_start", "synthesis_complete"]
        assert_good(await ask(three, GOOD))


async def test_pings_and_the_loop_stay_free_while_the_model_works(served: Served) -> None:
    async with open_session(served.port) as ws:
        await ws.send('{"text": "hold"}')
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        async with asyncio.timeout(2):
            await (await ws.ping())
        async with asyncio.timeout(2), open_session(served.port) as other:
            assert (await ask(other, {"text": ""})).kinds == ["error"]
        served.engine.release.set()
        assert (await answer(ws)).last["type"] == "synthesis_complete"


async def test_two_sessions_take_turns_and_keep_their_audio_apart(served: Served) -> None:
    async with open_session(served.port) as one, open_session(served.port) as two:
        long = {"text": LONG, "voice": "af_heart", "request_id": "one"}
        await one.send(json.dumps(long))
        assert (await control(one))["type"] == "synthesis_start"
        short = await ask(two, GOOD | {"voice": "bf_emma"})
        assert_good(short)
        rest = await answer(one)
        assert rest.kinds == ["synthesis_complete"]
        assert served.engine.spoken.index("One sentence.") == 0
        assert len(set(rest.frames[1:-1])) <= 3, "the levels of another voice are in this audio"
        assert rest.frames[1][:2] != short.frames[0][:2]


@pytest.mark.parametrize("how", ["close frame", "reset"])
async def test_a_client_that_leaves_stops_the_work_quietly(
    served: Served, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with open_session(served.port) as ws:
        await ws.send(json.dumps({"text": "Now hold. " + LONG}))
        assert (await control(ws))["type"] == "synthesis_start"
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        if how == "reset":
            raw = ws.transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            ws.transport.abort()
        else:
            await ws.close()
    # the server has seen the loss once a new session, opened after it, is served
    async with open_session(served.port) as ws:
        await ws.send(json.dumps(GOOD))
        assert (await control(ws))["type"] == "synthesis_start"
        served.engine.release.set()
        assert (await answer(ws)).last["type"] == "synthesis_complete"
    assert len(served.engine.spoken) <= 3, "the text of the lost client was spoken on"
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_client_that_sends_but_never_reads_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CLOSE_TIMEOUT_S", 0.01)
    sent: list[str] = []

    async def receive_endlessly() -> Message:
        await asyncio.sleep(0)
        return {"type": "websocket.connect"} if not sent else {"type": "websocket.receive", "text": '{"text": "x"}'}

    async def send_into_a_full_socket(message: Message) -> None:
        sent.append(message["type"])
        if len(sent) > 1:
            await asyncio.Event().wait()

    ws = WebSocket({"type": "websocket"}, receive_endlessly, send_into_a_full_socket)
    async with asyncio.timeout(TIMEOUT_S):
        await session.Session(ws, Model(lambda: speech(FakeEngine())), Settings(), Telemetry()).run()
    assert sent == ["websocket.accept", "websocket.send", "websocket.close"]


async def test_a_failing_model_is_reported_and_the_session_lives(served: Served) -> None:
    async with open_session(served.port) as ws:
        got = await ask(ws, {"text": "Fine. Now boom. Never heard.", "request_id": 3})
        assert got.kinds == ["synthesis_start", "error"]
        assert (got.last["code"], got.last["request_id"]) == ("synthesis_failed", 3)
        assert "secret" not in got.last["message"]
        assert_good(await ask(ws, GOOD))


async def test_an_oversize_message_closes_with_1009_and_the_next_session_works(served: Served) -> None:
    async def too_much(ws: ClientConnection) -> None:
        await ws.send("x" * (2 << 20))
        if served.server == "hypercorn":  # which sends the close frame and then waits for the client to hang up
            ws.transport.abort()
        await receive(ws)

    async with open_session(served.port) as ws:
        with pytest.raises(ConnectionClosed) as closed:  # the sending may see it, or the receiving
            await too_much(ws)
        if served.server == "uvicorn":
            assert closed.value.rcvd is None or closed.value.rcvd.code == 1009  # None: reset while still sending
    async with open_session(served.port) as ws:
        assert_good(await ask(ws, GOOD))


@pytest.mark.parametrize("message", [{"type": "cancel"}, {"text": ""}, {"text": 5}])
async def test_a_burst_of_messages_is_answered_one_by_one(served: Served, message: dict[str, object]) -> None:
    number = 300
    async with open_session(served.port) as ws:
        for _ in range(number):
            await ws.send(json.dumps(message))
        ends = 0
        while ends < number:
            ends += (await control(ws))["type"] != "synthesis_start"
        assert_good(await ask(ws, GOOD))


async def test_refusals_are_bounded() -> None:
    box = outbox.Outbox()
    assert all(box.put_urgent("no") for _ in range(outbox.MAX_REFUSALS))
    assert not box.put_urgent("no")
    await box.take()
    assert box.put_urgent("no")


async def test_audio_waits_for_a_slow_client() -> None:
    box = outbox.Outbox()
    for _ in range(outbox.MAX_FRAMES):
        await box.put(outbox.Frame(b"audio"))
    waiting = asyncio.ensure_future(box.put(outbox.Frame(b"more")))
    await asyncio.sleep(0)
    assert not waiting.done()
    await box.take()
    await waiting
