"""What a turn tells its reader: events in order, and how much audio is in them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from container.agent.timeline import Timeline

__all__ = ["SAMPLE_RATE", "Event", "Outgoing", "seconds"]

SAMPLE_RATE = 24_000
_QUEUED = 64

Event = dict[str, Any]


class Outgoing:
    """A queue of events, which makes its writers wait while the reader is slow."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._queue: asyncio.Queue[tuple[Event, int] | None] = asyncio.Queue(_QUEUED)
        """Events, each with how many bytes of PCM its audio was made from."""
        self._room = asyncio.Event()
        """Set when an event has left the queue, or nothing more is to enter it."""
        self._emitting = asyncio.Lock()
        self._read = 0
        self._settled = asyncio.Event()
        self.heard: set[int] = set()
        """The sentences of which the reader took audio."""
        self.interrupted = asyncio.Event()
        """Set when somebody has talked into it."""
        self.stopped = False
        """Whether nothing more is to be told but the last event."""
        self.chunks = 0
        self.pcm = 0
        """Bytes of PCM that all the audio was made from."""

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events to the last one."""
        while (queued := await self._queue.get()) is not None:
            event, _ = queued
            self._room.set()
            event["seq"] = self._read  # an interruption may have taken some out
            self._read += 1
            if event["type"] == "audio_chunk":
                self.heard.add(event["sentence"])
            elif event["type"] in ("done", "error"):
                self._settled.set()
            yield event

    async def emit(self, kind: str, pcm: int = 0, **fields: Any) -> None:
        """Queue an event, of audio with its bytes of PCM; wait while the reader is slow."""
        async with self._emitting:  # so that times are in the order in which the events arrive
            while self._queue.full() and not self.stopped:
                self._room.clear()
                await self._room.wait()
            if self.stopped:
                return
            self._queue.put_nowait((self._timeline.event(kind, **fields), pcm))
            if kind == "audio_chunk":
                self.chunks += 1
                self.pcm += pcm

    async def audio(self, data: bytes, pcm: int, **fields: Any) -> None:
        """Queue audio that was made from `pcm` bytes of PCM; an encoder may hold all of it back."""
        if data:
            await self.emit("audio_chunk", pcm, **fields, data=data)
        elif not self.stopped:
            self.pcm += pcm

    @property
    def has_room(self) -> bool:
        """Whether an event can be queued without waiting, and none waits already."""
        return not self._emitting.locked() and not self._queue.full()

    def put_at_once(self, event: Event) -> None:
        """Queue an event; there has to be room."""
        self._queue.put_nowait((event, 0))

    async def last(self, event: Event | None) -> None:
        """Queue the last event, if it has not been queued yet, and wait until the reader comes to it.

        Until then an interruption can take audio back.
        """
        if event is not None:
            await self._queue.put((event, 0))
            if self.interrupted.is_set():  # while there was no room for it
                self._amend(event)
        await self._settled.wait()

    def close(self) -> None:
        """End what is read; the last event has been."""
        self._queue.put_nowait(None)

    def interrupt(self) -> None:
        """Tell nothing more, and take back the audio that waits: a slow reader would go on hearing it for long."""
        self.stopped = True
        self.interrupted.set()
        self._room.set()
        for _ in range(self._queue.qsize()):
            queued = self._queue.get_nowait()
            if queued is not None:
                event, pcm = queued
                if event["type"] == "audio_chunk":
                    self.chunks -= 1
                    self.pcm -= pcm
                    continue
                self._amend(event)
            self._queue.put_nowait(queued)

    def _amend(self, event: Event) -> None:
        """Make a `done` say that there was an interruption, and count what is left."""
        if event["type"] == "done":
            event.update(interrupted=True, total_chunks=self.chunks, duration_s=seconds(self.pcm))

    def forget(self) -> None:
        """Make room: nobody reads any more."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._room.set()


def seconds(size: int) -> float:
    """Return how long so many bytes of PCM are."""
    return round(size / 2 / SAMPLE_RATE, 3)
