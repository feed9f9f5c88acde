"""What waits for a slow reader when somebody talks into a turn: it is neither told nor counted."""

import asyncio

from container.agent.outgoing import Outgoing
from container.agent.timeline import Timeline


async def filled() -> Outgoing:
    """Return a turn whose queue has no more room."""
    out = Outgoing(Timeline())
    while out.has_room:
        await out.emit("text", text="x")
    return out


async def told(out: Outgoing) -> list[dict[str, object]]:
    """Return all events, read while the last one is queued."""
    reading = asyncio.create_task(read(out))
    await out.last({"type": "done", "interrupted": False, "total_chunks": -1, "duration_s": -1.0})
    out.close()
    return await reading


async def read(out: Outgoing) -> list[dict[str, object]]:
    return [event async for event in out.events()]


async def test_audio_that_waits_for_room_is_dropped_by_an_interruption() -> None:
    async with asyncio.timeout(10):
        out = await filled()
        waiting = asyncio.create_task(out.audio(b"aa", 4, sentence=0))
        await asyncio.sleep(0)  # it waits for room now
        out.interrupt()
        events = await told(out)
        await waiting
    assert "audio_chunk" not in {event["type"] for event in events}
    assert out.heard == set()
    assert (events[-1]["total_chunks"], events[-1]["duration_s"]) == (0, 0.0)


async def test_audio_behind_a_text_that_waits_is_not_counted_after_an_interruption() -> None:
    async with asyncio.timeout(10):
        out = await filled()
        text = asyncio.create_task(out.emit("text", text="y"))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(out.audio(b"aa", 480, sentence=0))
        await asyncio.sleep(0)
        out.interrupt()
        events = await told(out)
        await asyncio.gather(text, waiting)
    assert (out.chunks, out.pcm) == (0, 0)
    assert events[-1]["total_chunks"] == 0


async def test_audio_that_finds_room_is_told_and_counted() -> None:
    async with asyncio.timeout(10):
        out = await filled()
        waiting = asyncio.create_task(out.audio(b"aa", 48_000, sentence=3))
        reading = asyncio.create_task(read(out))
        await waiting
        await out.last({"type": "done"})
        out.close()
        events = await reading
    assert [event["type"] for event in events[-2:]] == ["audio_chunk", "done"]
    assert (out.chunks, out.pcm, out.heard) == (1, 48_000, {3})
