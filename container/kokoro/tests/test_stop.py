"""The end of the server, as its clients see it, on a server that has been idle before: all sessions ended once."""

import asyncio
import json
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import httpx
import pytest
from starlette.types import Message
from websockets.asyncio.client import ClientConnection

from container.kokoro import app, invocations, session
from container.kokoro.model import Model
from container.kokoro.sessions import Sessions
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry
from container.kokoro.tests.client import TIMEOUT_S, answer, ask, closed, control, opened
from container.kokoro.tests.conftest import metric
from container.kokoro.tests.fakes import FakeEngine, Socket, speech
from container.kokoro.tests.servers import SERVERS, running, serving
from container.kokoro.tests.servers import session as open_session

GOOD = {"text": "Hello there.", "request_id": "good"}
STOPPING = (1001, "the server is stopping")


class Stopping:
    """A server that has been idle once, and two sessions on it: one is held by the model, one asks for nothing."""

    def __init__(
        self, server: ExitStack, port: int, engine: FakeEngine, busy: ClientConnection, idle: ClientConnection
    ) -> None:
        self._server = server
        self.port, self.engine = port, engine
        self.busy, self.idle = busy, idle

    async def end(self) -> None:
        """Do what SIGTERM does, and return when the server is gone."""
        await asyncio.to_thread(self._server.close)


@asynccontextmanager
async def stopping(server: str, grace_s: float) -> AsyncIterator[Stopping]:
    settings, engine = Settings(stop_grace_s=grace_s), FakeEngine()
    application = app.create_app(lambda: speech(engine, settings), settings=settings)
    with ExitStack() as stack:
        port = stack.enter_context(serving(application, server, settings))
        assert await asyncio.to_thread(application.state.model.done.wait, TIMEOUT_S)
        async with open_session(port) as ws:
            assert (await ask(ws, GOOD)).last["type"] == "synthesis_complete"
        async with open_session(port) as busy, open_session(port) as idle:
            await busy.send(json.dumps({"text": "Hold, then hold on. And an end.", "request_id": "long"}))
            assert (await control(busy))["type"] == "synthesis_start"
            assert await asyncio.to_thread(engine.holding.wait, TIMEOUT_S)
            try:
                yield Stopping(stack, port, engine, busy, idle)
            finally:
                engine.release.set()


@pytest.mark.parametrize("server", SERVERS)
async def test_a_text_under_way_is_finished_and_the_session_closed_with_1001(server: str) -> None:
    async with stopping(server, grace_s=10) as at:
        end = asyncio.ensure_future(at.end())
        assert await closed(at.idle) == STOPPING  # by now the stop has begun
        at.engine.release.set()
        got = await answer(at.busy)
        assert got.last["type"] == "synthesis_complete"
        assert got.audio
        assert await closed(at.busy) == STOPPING
        await end


@pytest.mark.parametrize("server", SERVERS)
async def test_a_text_that_takes_longer_than_the_grace_is_cut_with_1001(server: str) -> None:
    async with stopping(server, grace_s=0.1) as at:
        end = asyncio.ensure_future(at.end())
        assert await closed(at.busy) == STOPPING
        assert not at.engine.release.is_set(), "it was not cut: it was finished"
        await end


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_over_http_that_has_no_sound_by_then_is_told_so(
    server: str, *, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invocations, "STOPPING_S", 0.1)
    async with stopping(server, grace_s=0.1) as at, httpx.AsyncClient(base_url=f"http://127.0.0.1:{at.port}") as http:
        body = {"text": "Wait for the other one.", "stream": stream}
        asked = asyncio.ensure_future(http.post("/invocations", json=body, timeout=TIMEOUT_S))
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                told = (await http.get("/metrics")).text
                if metric(told, "kokoro_requests_in_flight", transport="http"):
                    break
                await asyncio.sleep(0.01)
        end = asyncio.ensure_future(at.end())
        answer = await asked
        assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
        assert not at.engine.release.is_set()
        await end


async def test_a_session_that_opens_while_the_server_stops_ends_with_it() -> None:
    accepting, accepted = asyncio.Event(), asyncio.Event()

    async def at_once(message: Message) -> None:
        del message

    async def when_told(message: Message) -> None:
        if message["type"] == "websocket.accept":
            accepting.set()
            await accepted.wait()

    sessions = Sessions(Model(lambda: speech(FakeEngine())), Settings(), Telemetry())
    first, second, late = Socket(at_once), Socket(when_told), Socket(at_once)
    async with asyncio.timeout(TIMEOUT_S), asyncio.TaskGroup() as tasks:
        first.gone.set()
        await sessions.serve(first.websocket)  # the server has been idle from now on
        opening = tasks.create_task(sessions.serve(second.websocket))
        await accepting.wait()
        stop = tasks.create_task(sessions.stop(TIMEOUT_S))
        await asyncio.sleep(0)
        await sessions.serve(late.websocket)
        assert [message["type"] for message in late.sent] == ["websocket.accept", "websocket.send", "websocket.close"]
        assert late.sent[-1]["code"] == 1001
        assert not stop.done(), "it did not wait for the session that was being opened"
        accepted.set()
        await opening
    assert second.sent[-1] == {"type": "websocket.close", "code": 1001, "reason": "the server is stopping"}


async def exit_code(process: Process) -> int:
    async with asyncio.timeout(TIMEOUT_S * 3):
        return await process.wait()


async def test_hypercorn_ends_on_sigterm_with_a_session_that_is_held() -> None:
    async with running("hypercorn", KOKORO_STOP_GRACE="0.1") as (process, port):
        async with await opened(port) as ws:
            assert (await ask(ws, GOOD)).last["type"] == "synthesis_complete"
        async with await opened(port) as ws:
            await ws.send('{"text": "hold"}')
            assert (await control(ws))["type"] == "synthesis_start"
            process.send_signal(signal.SIGTERM)
            assert await closed(ws) == STOPPING
        assert await exit_code(process) == 0


async def test_clients_that_read_nothing_do_not_keep_hypercorn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CLOSE_TIMEOUT_S", 0.1)
    monkeypatch.setattr(app, "STOP_S", 0.1)
    text = json.dumps({"text": "One sentence. " * 1000})
    async with stopping("hypercorn", grace_s=0) as at:
        at.engine.release.set()
        at.idle.transport.pause_reading()
        await at.idle.send(text)
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n\r\n"
        writer.write(head.encode() + text.encode())
        await reader.readuntil(b"\r\n\r\n")
        await at.end()
        at.idle.transport.abort()
        writer.transport.abort()
