"""Clients that stop reading, or read slowly."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from container.kokoro import app, messages, session
from container.kokoro.errors import RequestError
from container.kokoro.model import Model
from container.kokoro.sessions import Sessions
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry
from container.kokoro.tests.client import TIMEOUT_S
from container.kokoro.tests.conftest import metric
from container.kokoro.tests.fakes import FakeEngine, Socket, speech
from container.kokoro.tests.servers import SERVERS, serving
from container.kokoro.tests.servers import session as open_session

LONG = json.dumps({"text": "One sentence. " * 1000})
HELLO = json.dumps({"text": "Hello there, all of you."})


class Bench:
    """Sessions around a fake model that is ready."""

    def __init__(self, settings: Settings) -> None:
        self.engine, self.telemetry = FakeEngine(), Telemetry()
        self._model = Model(lambda: speech(self.engine, settings))
        self.sessions = Sessions(self._model, settings, self.telemetry)

    async def ready(self) -> None:
        self._model.start(lambda: None)
        assert await asyncio.to_thread(self._model.done.wait, TIMEOUT_S)

    def metric(self, name: str, **labels: str) -> float:
        return metric(self.telemetry.exposition().decode(), name, **labels)


async def nothing(message: Message) -> None:
    """Read nothing; the close frame still fits into the buffers."""
    if message["type"] == "websocket.send":
        await asyncio.Event().wait()


async def test_a_client_that_reads_nothing_is_ended_with_a_reason_and_its_slot_is_free() -> None:
    bench = Bench(Settings(stall_s=0.05, max_sessions=1))
    await bench.ready()
    async with asyncio.timeout(TIMEOUT_S):
        for number in (1, 2):
            client = Socket(nothing, LONG)
            await bench.sessions.serve(client.websocket)
            end = client.sent[-1]
            assert (end["type"], end["code"]) == ("websocket.close", 1008)
            assert end["reason"] == "nothing that was sent was read in 0.05 s"
            assert bench.metric("kokoro_sessions") == 0
            assert bench.metric("kokoro_requests_in_flight", transport="websocket") == 0
            assert bench.metric("kokoro_requests_total", transport="websocket", outcome="disconnected") == number
    assert len(bench.engine.spoken) < 100, "the text was spoken to its end"


async def test_a_client_that_reads_slowly_hears_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(Settings(stall_s=100))
    await bench.ready()
    loop, late = asyncio.get_running_loop(), 0.0
    real_time = loop.time

    async def slowly(message: Message) -> None:
        nonlocal late
        if message["type"] == "websocket.send":
            late += 90  # seconds, on the clock of the loop
            for _ in range(3):
                await asyncio.sleep(0)  # what is due by now happens
            if "synthesis_complete" in (message.get("text") or ""):
                client.gone.set()

    client = Socket(slowly, HELLO)
    monkeypatch.setattr(loop, "time", lambda: real_time() + late)
    await bench.sessions.serve(client.websocket)
    monkeypatch.undo()
    texts = [json.loads(message["text"]) for message in client.sent if message.get("text")]
    assert [text["type"] for text in texts] == ["synthesis_start", "synthesis_complete"]
    assert late > 500
    assert client.sent[-1]["type"] == "websocket.send", "the server ended the session"


async def test_answers_that_are_not_taken_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(Settings())
    await bench.ready()
    monkeypatch.setattr(session, "UNREAD_S", 0.05)
    client = Socket(nothing, *['{"type": "cancel"}'] * 200)
    async with asyncio.timeout(TIMEOUT_S):
        await bench.sessions.serve(client.websocket)
    assert (client.sent[-1]["code"], client.sent[-1]["reason"]) == (
        1008,
        "messages are sent, but the answers are not read",
    )


async def test_the_server_stops_also_where_a_client_does_not_read_the_end_of_its_idle_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, idle = Bench(Settings(idle_s=0.01, stall_s=0)), asyncio.Event()
    await bench.ready()
    frame_of = messages.error

    def error(failure: RequestError) -> str:
        if failure.code == "idle":
            idle.set()
        return frame_of(failure)

    async def all_but_the_end(message: Message) -> None:
        if "synthesis_complete" in (message.get("text") or ""):
            await asyncio.Event().wait()

    monkeypatch.setattr(messages, "error", error)
    client = Socket(all_but_the_end, HELLO)
    async with asyncio.timeout(TIMEOUT_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(bench.sessions.serve(client.websocket))
        await idle.wait()
        await bench.sessions.stop(0)
    assert (client.sent[-1]["type"], client.sent[-1]["code"]) == ("websocket.close", 1001)


STALLED = Settings(stall_s=0.4)
ENDLESS = json.dumps({"text": "One sentence. " * 1000}).encode()
"""31 MB of audio: more than the buffers of both ends hold."""


@asynccontextmanager
async def deaf_client(server: str) -> AsyncIterator[tuple[int, socket.socket, FakeEngine]]:
    """Serve, ask for an endless answer over HTTP, and read nothing of it; yield the port, the client, the engine."""
    engine = FakeEngine()
    application = app.create_app(lambda: speech(engine, STALLED), settings=STALLED)
    request = b"POST /invocations HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s" % (len(ENDLESS), ENDLESS)
    with serving(application, server, STALLED) as port:
        assert await asyncio.to_thread(application.state.model.done.wait, TIMEOUT_S)
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"http://127.0.0.1:{port}/ping")).status_code == 200
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(request)
            yield port, client, engine


async def is_broken_off(port: int, transport: str) -> None:
    """Return when the server has ended the only request, and nothing of it is left."""
    async with asyncio.timeout(TIMEOUT_S), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
        while True:
            text = (await http.get("/metrics")).text
            if metric(text, "kokoro_requests_total", transport=transport, outcome="disconnected"):
                break
            await asyncio.sleep(0.05)
    assert metric(text, "kokoro_requests_in_flight", transport=transport) == 0
    assert metric(text, "kokoro_waiting") == 0


@pytest.mark.parametrize("server", SERVERS)
async def test_an_answer_over_http_that_nobody_reads_is_broken_off(server: str) -> None:
    async with deaf_client(server) as (port, client, engine):
        await is_broken_off(port, "http")
        assert len(engine.spoken) < 1000, "the text was spoken to its end"
        client.settimeout(TIMEOUT_S)
        received = b"".join(iter(lambda: client.recv(1 << 20), b""))  # whoever reads on after all gets what was sent
    assert received.startswith(b"HTTP/1.1 200")
    assert not received.endswith(b"0\r\n\r\n"), "it says that it is complete"


def connections(port: int) -> int:
    """Return how many connections of the server on `port` are there, as the kernel counts."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening, ended = "0A", "06"
    return sum(row[1].endswith(f":{port:04X}") and row[3] not in (listening, ended) for row in rows)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel has no TCP_USER_TIMEOUT: Linux has")
async def test_no_connection_is_left_of_a_client_that_never_reads() -> None:
    async with deaf_client("uvicorn") as (port, _, _), open_session(port) as ws:
        await ws.send(ENDLESS)
        ws.transport.pause_reading()
        for transport in ("http", "websocket"):
            await is_broken_off(port, transport)
        async with asyncio.timeout(TIMEOUT_S):
            while connections(port):  # noqa: ASYNC110  # the kernel has no event for it
                await asyncio.sleep(0.05)
        ws.transport.abort()  # it would wait for the close frame that it has not read
