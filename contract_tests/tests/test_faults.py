"""Faults that take more than a probe: a long or an odd message, fragments, a pause, a Ping at work."""

import asyncio
import contextlib
import json

import pytest
from websockets.exceptions import ConnectionClosed

from contract_tests.tests.probes import PATIENCE_S, RATE, ask, dial, ping_status, say
from contract_tests.tests.serving import named, served

LONG = "word " * 200


@pytest.mark.parametrize(
    ("name", "message", "outcome", "seconds"),
    [
        ("first-chunk-wait", say("n", "..."), "silence", 0),
        ("empty-concat", say("n", "..."), "eof", 0),
        ("starlette", say("n", "..."), "complete", 0),
        ("oversize-raises", say("o").ljust(2**20 + 1), "eof", 0),
        ("starlette", say("o").ljust(2**20 + 1), "complete", 0.6),
        ("silent-voice", say("v", voice="nobody"), "complete", 0),
        ("nan-speed", '{"text": "Hi.", "speed": NaN}', "eof", 0),
        ("starlette", '{"text": "Hi.", "speed": NaN}', "error", 0),
        ("truncated-text", say("l", LONG), "complete", 10),
        ("long-text-hangs", say("l", LONG), "silence", 0),
        ("starlette", say("l", LONG), "complete", 20),
    ],
)
async def test_takes_one_message(name: str, message: str, outcome: str, seconds: float) -> None:
    with served(named(name)) as port:
        async with dial(port) as ws:
            turn = await ask(ws, message)
            ws.transport.abort()  # some would wait for the Close frame for ever
    assert turn.outcome == outcome
    assert sum(map(len, turn.frames)) == seconds * 2 * RATE


@pytest.mark.parametrize(
    ("name", "outcome", "characters"),
    [
        ("fragment-decode", "complete", 31),
        ("fragment-log", "eof", 0),
        ("lws-fragments", "error", 0),
        ("libwebsockets", "complete", 26),
        ("starlette", "complete", 26),
    ],
)
async def test_takes_fragments(name: str, outcome: str, characters: int) -> None:
    payload = json.dumps({"text": "d\u00e9j\u00e0 vu, " * 2 + "caf\u00e9, na"}, ensure_ascii=False).encode()
    with served(named(name)) as port:
        async with dial(port) as ws:
            with contextlib.suppress(ConnectionClosed):  # it may be over before the last fragment
                await ws.send((bytes([byte]) for byte in payload), text=True)
            turn = await ask(ws, "")
            ws.transport.abort()
    assert turn.outcome == outcome
    assert sum(map(len, turn.frames)) == round(characters * 0.02 * 2 * RATE)


async def test_idle_timeout_closes_in_a_pause() -> None:
    with served(named("idle-timeout")) as port:
        async with dial(port) as ws:
            assert (await ask(ws, say("i"))).outcome == "complete"
            async with asyncio.timeout(5):
                await ws.wait_closed()
            assert ws.close_code == 1000


async def test_a_good_container_sits_out_a_pause() -> None:
    with served(named("starlette")) as port:
        async with dial(port) as ws:
            assert (await ask(ws, say("i"))).outcome == "complete"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.6):
                    await ws.wait_closed()
            assert (await ask(ws, say("j"))).outcome == "complete"


@pytest.mark.parametrize(("name", "answered"), [("blocked-pong", False), ("starlette", True)])
async def test_blocked_pong_answers_no_ping_at_work(name: str, *, answered: bool) -> None:
    with served(named(name)) as port:
        async with dial(port) as ws:
            await ws.send(say("l", "A long text. " * 10))
            assert json.loads(await ws.recv())["type"] == "synthesis_start"  # from here on it is at work
            done, _ = await asyncio.wait([asyncio.ensure_future(await ws.ping())], timeout=PATIENCE_S)
            assert await asyncio.to_thread(ping_status, port, "GET") == "200"
            ws.transport.abort()  # a Close frame would wait for its answer as long as the Ping
    assert bool(done) == answered


async def test_every_frame_of_brace_begins_with_a_brace() -> None:
    with served(named("brace")) as port:
        async with dial(port) as ws:
            turn = await ask(ws, say("b"))
    assert len(turn.frames) > 1
    assert all(frame.startswith(b"{") for frame in turn.frames)


@pytest.mark.parametrize("name", ["echo", "echo-hypercorn"])
async def test_echo_answers_every_message_once_with_its_type(name: str) -> None:
    messages: list[str | bytes] = ["", "text", b"", b"\0\1", "x" * 100_000, b"x" * 100_000]
    with served(named(name)) as port:
        async with dial(port) as ws:
            for message in messages:
                await ws.send(message)
            assert [await ws.recv() for _ in messages] == messages
        assert ping_status(port, "GET") == "200"
