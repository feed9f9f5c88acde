"""One line in the log and one count for each request, however it ends; and who is refused for lack of room."""

import asyncio
import json
import logging
import threading
from typing import Any

import httpx
import pytest

from container.kokoro.app import create_app
from container.kokoro.logs import JsonFormatter
from container.kokoro.pcm import Samples
from container.kokoro.settings import Settings
from container.kokoro.tests.client import TIMEOUT_S, answer, ask, control, opened
from container.kokoro.tests.conftest import Served, serve
from container.kokoro.tests.fakes import FakeEngine, speech
from container.kokoro.tests.servers import SERVERS, running, serving
from container.kokoro.tests.servers import session as open_session


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return what was logged about requests."""
    return [
        json.loads(JsonFormatter().format(record))
        for record in caplog.records
        if record.name == "container.kokoro.requests"
    ]


async def test_requests_that_never_had_their_turn(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with open_session(served.port) as ws:
        for name, text in (("held", "hold"), ("unwanted", "No."), ("unheard", "Never.")):
            await ws.send(json.dumps({"text": text, "request_id": name}))
        assert (await control(ws))["type"] == "synthesis_start"
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        await ws.send(json.dumps({"type": "cancel", "request_id": "unwanted"}))
        await ws.send("{}")
        assert (await control(ws))["type"] == "synthesis_cancelled"
    await served.settled("kokoro_sessions", 0)
    served.engine.release.set()
    ends = {line.get("request_id", line.get("code")): line["outcome"] for line in lines(caplog)}
    assert ends == {
        "held": "disconnected",
        "unwanted": "cancelled",
        "unheard": "disconnected",
        "text_required": "refused",
    }
    assert len(lines(caplog)) == 4
    for outcome, count in (("disconnected", 2), ("cancelled", 1), ("refused", 1), ("complete", 0)):
        assert served.metric("kokoro_requests_total", transport="websocket", outcome=outcome) == count
    assert served.metric("kokoro_queue_seconds_count", transport="websocket") == 1, "only one had its turn"
    [line] = [line for line in lines(caplog) if line.get("request_id") == "unheard"]
    assert line["queued_s"] >= 0
    assert (line["voice"], line["characters"]) == ("af_heart", len("Never."))


async def test_what_is_refused_for_lack_of_room_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serve(Settings(max_waiting=1)) as served:
        async with (
            open_session(served.port) as one,
            open_session(served.port) as two,
            open_session(served.port) as three,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as http,
        ):
            await one.send('{"text": "hold"}')
            assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
            await two.send('{"text": "x"}')
            await served.settled("kokoro_waiting", 1)
            assert (await ask(three, {"text": "x", "request_id": "ws"})).last["code"] == "overloaded"
            refused = await http.post("/invocations", json={"text": "x", "request_id": "http"})
            assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
            assert "1 requests wait for their first sound already" in refused.json()["error"]
            served.engine.release.set()
            assert (await answer(two)).last["type"] == "synthesis_complete"
            assert (await ask(three, {"text": "boom", "request_id": "boom"})).last["code"] == "synthesis_failed"
        for transport, failed in (("websocket", 1), ("http", 0)):
            assert served.metric("kokoro_requests_total", transport=transport, outcome="refused") == 1
            assert served.metric("kokoro_requests_total", transport=transport, outcome="failed") == failed
    told = {line["request_id"]: (line["outcome"], line.get("code")) for line in lines(caplog)}
    assert told["ws"] == told["http"] == ("refused", "overloaded")
    assert told["boom"] == ("failed", "synthesis_failed")


class Gated(FakeEngine):
    """Holds at "first" for a signal of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.go_on = threading.Event(), threading.Event()

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        if "First" in phonemes:
            self.first.set()
            assert self.go_on.wait(TIMEOUT_S)
        return super().synthesise(phonemes, voice, speed)


async def test_a_long_text_that_has_been_begun_takes_no_room_from_newcomers() -> None:
    engine, settings = Gated(), Settings(max_waiting=1)
    app = create_app(lambda: speech(engine, settings), settings=settings)
    with serving(app, "uvicorn") as port:
        assert await asyncio.to_thread(app.state.model.done.wait, TIMEOUT_S)
        async with open_session(port) as long, open_session(port) as other, open_session(port) as newcomer:
            await long.send('{"text": "First sentence. And a second."}')
            assert await asyncio.to_thread(engine.first.wait, TIMEOUT_S)
            await other.send('{"text": "hold"}')
            assert (await control(other))["type"] == "synthesis_start"
            engine.go_on.set()  # the other one comes next, and what is left of the long text waits
            assert await asyncio.to_thread(engine.holding.wait, TIMEOUT_S)
            assert (await control(long))["type"] == "synthesis_start"
            assert await long.recv(), "its first audio"
            await newcomer.send('{"text": "Short."}')
            assert (await control(newcomer))["type"] == "synthesis_start"
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S) as http:
                assert (await http.post("/invocations", json={"text": "x"})).json()["code"] == "overloaded"
            engine.release.set()
            for ws in (long, other, newcomer):
                assert (await answer(ws)).last["type"] == "synthesis_complete"


@pytest.mark.parametrize("server", SERVERS)
async def test_the_format_of_the_log_holds_under_a_server_of_one_s_own(server: str) -> None:
    async with running(server, KOKORO_LOG_FORMAT="json") as (process, port):
        async with await opened(port) as ws:
            assert (await ask(ws, {"text": "Hello.", "request_id": "r"})).last["type"] == "synthesis_complete"
        process.terminate()
        _, said = await asyncio.wait_for(process.communicate(), TIMEOUT_S * 3)
    written = said.decode().splitlines()
    ours = [json.loads(line) for line in written if line.startswith("{")]
    assert [line["outcome"] for line in ours if line.get("request_id") == "r"] == ["complete"]
    assert len([line for line in written if "ready after" in line]) == 1
    assert len([line for line in written if "unning on http" in line]) == 1, "its own lines are written twice"
