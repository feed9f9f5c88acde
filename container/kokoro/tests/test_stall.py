"""Clients that stop reading, or read slowly."""

import asyncio
import json

import pytest
from starlette.types import Message

from container.kokoro import messages
from container.kokoro.errors import RequestError
from container.kokoro.model import Model
from container.kokoro.sessions import Sessions
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry
from container.kokoro.tests.client import TIMEOUT_S
from container.kokoro.tests.conftest import metric
from container.kokoro.tests.fakes import FakeEngine, Socket, speech

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
