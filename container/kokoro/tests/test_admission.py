"""A hundred clients that behave badly, one way after the other: every slot and lock is free afterwards."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator

import httpx
import pytest

from container.kokoro.settings import Settings
from container.kokoro.tests.client import TIMEOUT_S, ask, control, receive
from container.kokoro.tests.conftest import Served, serve
from container.kokoro.tests.servers import SERVERS
from container.kokoro.tests.servers import session as open_session

TIMES = 100
LONG = "One sentence. " * 100


@pytest.fixture(params=SERVERS)
async def tight(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    """A server in which one lost slot is one too many."""
    with serve(Settings(max_sessions=4, max_waiting=4, max_queued=4), request.param) as served:
        yield served


async def assert_free(served: Served) -> None:
    """Every slot can be had again, at the same time."""
    await served.settled("kokoro_sessions", 0)
    await served.settled("kokoro_waiting", 0)
    for transport in ("http", "websocket"):
        await served.settled("kokoro_requests_in_flight", 0, transport=transport)
    async with (
        open_session(served.port) as one,
        open_session(served.port) as two,
        open_session(served.port) as three,
        open_session(served.port) as four,
    ):
        answers = await asyncio.gather(*(ask(ws, {"text": "Hello there."}) for ws in (one, two, three, four)))
        assert [got.kinds for got in answers] == [["synthesis_start", "synthesis_complete"]] * 4
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as http:
        assert (await http.get("/ping")).status_code == 200
        answers_ = await asyncio.gather(*(http.post("/invocations", json={"text": "Hello."}) for _ in range(4)))
        assert [answer.status_code for answer in answers_] == [200] * 4


def reset(transport: asyncio.WriteTransport) -> None:
    """Break a connection off with a reset."""
    raw = transport.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


async def test_malformed_bodies(tight: Served) -> None:
    bad = [b"", b"\xff", b"[]", b"not json", b'{"text": 5}', b'{"text": "x", "voice": []}', b'{"text": "boom"}']
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{tight.port}", timeout=TIMEOUT_S) as http:
        for number in range(TIMES):
            answer = await http.post("/invocations", content=bad[number % len(bad)])
            assert answer.status_code == (500 if number % len(bad) == 6 else 400)
        await http.post("/invocations", json={"text": "A good one, after failures of the model."})
    await assert_free(tight)


async def test_aborted_streams(tight: Served) -> None:
    body = json.dumps({"text": LONG}).encode()
    for number in range(TIMES):
        reader, writer = await asyncio.open_connection("127.0.0.1", tight.port)
        writer.write(b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        if number % 2:
            async with asyncio.timeout(TIMEOUT_S):
                await reader.readuntil(b"\r\n\r\n")  # the answer has begun
        reset(writer.transport)
    await assert_free(tight)


async def test_rude_disconnects(tight: Served) -> None:
    turned_away = 0
    for number in range(TIMES):
        async with open_session(tight.port) as ws:
            await ws.send(json.dumps({"text": LONG}))
            first = await control(ws)
            turned_away += first["type"] == "error"
            if number % 2 and first["type"] != "error":
                assert isinstance(await receive(ws), bytes)
            reset(ws.transport)
    assert turned_away < TIMES / 2
    await assert_free(tight)


async def test_bodies_that_never_come(tight: Served) -> None:
    for _ in range(TIMES):
        _, writer = await asyncio.open_connection("127.0.0.1", tight.port)
        writer.write(b'POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"text": "')
        reset(writer.transport)
    await assert_free(tight)
