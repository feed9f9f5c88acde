"""Frames on their way to one client: audio waits for room, urgent answers overtake it, and both are bounded."""

import asyncio
from collections import deque
from dataclasses import dataclass

MAX_FRAMES = 8
"""Frames ahead of the client: about 2 s of audio."""
MAX_REFUSALS = 64
"""Refusals that a client may leave unread, on top of one answer for each request that it may queue."""


@dataclass(frozen=True)
class Frame:
    """One WebSocket frame: text or bytes. `owner` is the request that it belongs to, `last` its last frame."""

    payload: str | bytes
    owner: object = None
    last: bool = False


class End:
    """Nothing comes after this."""


class Outbox:
    """A queue between the tasks of one session: one task puts, one takes, and urgent answers come from anywhere."""

    def __init__(self, max_urgent: int = MAX_REFUSALS) -> None:
        self._max_urgent = max_urgent
        self._urgent: deque[str] = deque()
        self._frames: deque[Frame] = deque()
        self._ended = False
        self._ready = asyncio.Event()
        self._room = asyncio.Event()
        self._urgent_room = asyncio.Event()

    async def put(self, frame: Frame) -> None:
        """Add a frame; waits while the client is too far behind."""
        while len(self._frames) >= MAX_FRAMES:
            self._room.clear()
            await self._room.wait()
        self._frames.append(frame)
        self._ready.set()

    def put_urgent(self, text: str) -> bool:
        """Add an answer that overtakes all audio. False when the client does not read such answers either."""
        if len(self._urgent) >= self._max_urgent:
            return False
        self._urgent.append(text)
        self._ready.set()
        return True

    async def put_urgent_within(self, text: str, seconds: float) -> bool:
        """Add an answer that overtakes all audio, as soon as there is room. False when there is none in that time."""
        try:
            async with asyncio.timeout(seconds):
                while not self.put_urgent(text):
                    self._urgent_room.clear()
                    await self._urgent_room.wait()
        except TimeoutError:
            return False
        return True

    def drop(self, owner: object) -> None:
        """Forget the frames of one request that are not on their way yet."""
        self._frames = deque(frame for frame in self._frames if frame.owner is not owner)
        self._room.set()

    def end(self) -> None:
        """Add the end: the session is over once everything before it is sent."""
        self._ended = True
        self._ready.set()

    async def take(self) -> Frame | End:
        """Return the next frame, urgent ones first."""
        while not (self._urgent or self._frames or self._ended):
            self._ready.clear()
            await self._ready.wait()
        if self._urgent:
            self._urgent_room.set()
            return Frame(self._urgent.popleft())
        if self._frames:
            self._room.set()
            return self._frames.popleft()
        return End()
