"""Cancelling, limits, and the end of the server, over real sockets."""

import asyncio
import json
from collections import Counter
from itertools import pairwise

import pytest
from websockets.asyncio.client import ClientConnection

from container.kokoro.settings import Settings
from container.kokoro.tests.client import TIMEOUT_S, Answer, answer, ask, closed, control, receive
from container.kokoro.tests.conftest import Served, serve
from container.kokoro.tests.servers import SERVERS
from container.kokoro.tests.servers import session as open_session

GOOD = {"text": "Hello there.", "request_id": "good"}
FOREVER = "One sentence. " * 1000


async def send(ws: ClientConnection, *messages: object) -> None:
    for message in messages:
        await ws.send(json.dumps(message))


async def until(ws: ClientConnection, kind: str) -> Answer:
    """Collect up to a control frame of this kind."""
    result = Answer()
    while True:
        frame = await receive(ws)
        if isinstance(frame, bytes):
            result.frames.append(frame)
            continue
        result.controls.append(json.loads(frame))
        if result.last["type"] == kind:
            return result


async def test_barge_in_stops_the_audio_and_the_next_request_is_heard(served: Served) -> None:
    async with open_session(served.port) as ws:
        await send(ws, {"text": FOREVER, "request_id": "long"})
        assert (await control(ws))["type"] == "synthesis_start"
        assert isinstance(await receive(ws), bytes)
        await send(ws, {"type": "cancel"})
        end = await until(ws, "cancelled")
        assert end.kinds == ["synthesis_cancelled", "cancelled"]
        assert end.controls[0]["request_id"] == "long"
        assert end.controls[0]["total_duration_s"] > 0
        assert end.last == {"type": "cancelled", "request_id": None, "requests": 1}
        heard = await ask(ws, GOOD)
        assert heard.kinds == ["synthesis_start", "synthesis_complete"]
        assert len(heard.audio) == len("Hello there.") * 2400, "audio of the cancelled request came after the answer"
    assert len(served.engine.spoken) < 900


async def test_a_cancel_is_answered_while_the_model_works(served: Served) -> None:
    async with open_session(served.port) as ws:
        await send(ws, {"text": "Now hold on. And more.", "request_id": 1}, {"text": "Never. Heard.", "request_id": 2})
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        await send(ws, {"type": "cancel"})
        end = await until(ws, "cancelled")  # the model still holds
        assert end.kinds == ["synthesis_start", "synthesis_cancelled", "synthesis_cancelled", "cancelled"]
        assert end.last["requests"] == 2
        served.engine.release.set()
        assert (await ask(ws, {"text": "Next."})).kinds == ["synthesis_start", "synthesis_complete"]
    assert served.engine.spoken == ["Now hold on.", "Next."]


async def test_one_request_of_several_is_cancelled_and_the_others_are_spoken(served: Served) -> None:
    async with open_session(served.port) as ws:
        await send(ws, {"text": "hold", "request_id": "a"})
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        await send(ws, {"text": "Unwanted.", "request_id": "b"}, {"text": "Wanted.", "request_id": "c"})
        await send(ws, {"type": "cancel", "request_id": "b"})
        assert (await until(ws, "cancelled")).last == {"type": "cancelled", "request_id": "b", "requests": 1}
        served.engine.release.set()
        assert (await answer(ws)).last["request_id"] == "a"
        assert (await answer(ws)).last["request_id"] == "c"
    assert served.engine.spoken == ["hold", "Wanted."]


async def test_cancelling_what_has_ended_or_never_was_changes_nothing(served: Served) -> None:
    async with open_session(served.port) as ws:
        assert (await ask(ws, GOOD)).kinds == ["synthesis_start", "synthesis_complete"]
        for request_id in ("good", "never", 7, None):
            await send(ws, {"type": "cancel", "request_id": request_id})
            assert await control(ws) == {"type": "cancelled", "request_id": request_id, "requests": 0}
        await send(ws, {"type": "cancel", "request_id": {}})
        assert (await control(ws))["code"] == "invalid_request_id"
        assert (await ask(ws, GOOD)).kinds == ["synthesis_start", "synthesis_complete"]


async def test_every_request_ends_exactly_once_under_a_storm_of_cancels(served: Served) -> None:
    async with open_session(served.port) as ws:
        for number in range(40):
            await send(ws, {"text": f"Number {number}. Again. And again.", "request_id": number})
            if number % 3 == 0:
                await send(ws, {"type": "cancel", "request_id": number - 1})
        await send(ws, {"type": "close"})
        frames = [json.loads(frame) async for frame in ws if isinstance(frame, str)]
    ends = [frame["request_id"] for frame in frames if frame["type"] in ("synthesis_complete", "synthesis_cancelled")]
    assert Counter(ends) == Counter(range(40))


async def test_a_cancel_makes_room_in_the_queue_and_is_no_bypass_of_close() -> None:
    with serve(Settings(max_queued=2)) as served:
        async with open_session(served.port) as ws:
            await send(ws, {"text": "hold", "request_id": 0})
            assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
            await send(ws, *({"text": "x", "request_id": number} for number in (1, 2, 3)))
            assert (await until(ws, "error")).last["code"] == "queue_full"
            await send(ws, {"type": "cancel", "request_id": 1}, {"text": "Room.", "request_id": 4}, {"type": "close"})
            assert (await until(ws, "cancelled")).last["requests"] == 1
            await send(ws, {"type": "cancel", "request_id": 2})
            assert (await until(ws, "cancelled")).last["requests"] == 1
            served.engine.release.set()
            assert (await until(ws, "synthesis_complete")).last["request_id"] == 0
            assert (await answer(ws)).last["request_id"] == 4
            assert (await closed(ws))[0] == 1000


@pytest.mark.parametrize("server", SERVERS)
async def test_one_session_too_many_is_told_and_closed_and_room_comes_back(server: str) -> None:
    with serve(Settings(max_sessions=2), server) as served:
        async with open_session(served.port), open_session(served.port) as second:
            async with open_session(served.port) as third:
                refused = await control(third)
                assert (refused["type"], refused["code"]) == ("error", "too_many_sessions")
                assert "2 sessions are open" in refused["message"]
                assert await closed(third) == (1013, "too_many_sessions")
            assert (await ask(second, GOOD)).last["type"] == "synthesis_complete"
            assert served.metric("kokoro_sessions") == 2
        async with open_session(served.port) as fourth:
            # the server may see the end of the others a moment later
            assert (await ask(fourth, GOOD)).last["type"] in ("synthesis_complete", "error")
        assert served.metric("kokoro_sessions_refused_total") >= 1


async def test_a_session_that_asks_for_nothing_is_ended_with_a_reason_but_not_while_it_is_served() -> None:
    with serve(Settings(idle_s=0.3)) as served:
        async with open_session(served.port) as ws:
            await send(ws, {"text": "hold"})
            assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
            await asyncio.sleep(0.7)
            served.engine.release.set()
            assert (await answer(ws)).last["type"] == "synthesis_complete"
            ended = await control(ws)
            assert (ended["type"], ended["code"]) == ("error", "idle")
            assert (await closed(ws))[0] == 1000


async def test_longest_text_is_a_setting() -> None:
    with serve(Settings(max_text=10)) as served:
        async with open_session(served.port) as ws:
            refused = (await ask(ws, {"text": "x" * 11})).last
            assert refused["code"] == "text_too_long"
            assert "at most 10" in refused["message"]
            assert (await ask(ws, {"text": "x" * 10})).last["type"] == "synthesis_complete"


async def test_the_end_of_the_server_lets_a_request_end_and_closes_with_1001() -> None:
    with serve(Settings()) as served:
        await _end_the_server(served)


async def _end_the_server(served: Served) -> None:
    async with open_session(served.port) as ws, open_session(served.port) as idle:
        await send(ws, {"text": "hold"})
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        loop = asyncio.get_running_loop()
        stopping = asyncio.run_coroutine_threadsafe(served.app.state.sessions.stop(15), served.loop)
        assert (await closed(idle))[0] == 1001
        await send(ws, GOOD)
        assert (await until(ws, "error")).last["code"] == "closing"
        served.engine.release.set()
        assert (await answer(ws)).last["type"] == "synthesis_complete"
        assert await closed(ws) == (1001, "the server is stopping")
        await loop.run_in_executor(None, stopping.result, TIMEOUT_S)


async def test_frames_have_the_stated_durations(served: Served) -> None:
    async with open_session(served.port) as ws:
        got = await ask(ws, {"text": "A sentence of a certain length."})
    sizes = [len(frame) for frame in got.frames]
    assert sizes[0] == 4_800  # 100 ms
    assert set(sizes[1:-1]) == {12_000}  # 250 ms
    assert all(size % 2 == 0 for size in sizes)
    assert all(a <= b for a, b in pairwise(sizes[:-1]))
