"""Frames on their way to one client: audio waits for room, refusals don't, and both are bounded."""

import asyncio
from dataclasses import dataclass

MAX_FRAMES = 8
"""Frames ahead of the client: about 2 s of audio."""
MAX_REFUSALS = 64
"""Refusals that a client may leave unread."""


@dataclass(frozen=True)
class Refusal:
    """A text frame that answers at once, past the queue."""

    text: str


class End:
    """Nothing comes after this."""


type Frame = str | bytes | Refusal | End


class Outbox:
    """A queue between the tasks of one session; one writer takes, in order."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._room = asyncio.Semaphore(MAX_FRAMES)
        self._refusals = 0

    async def put(self, frame: str | bytes) -> None:
        """Add a frame; waits while the client is too far behind."""
        await self._room.acquire()
        self._frames.put_nowait(frame)

    def refuse(self, text: str) -> bool:
        """Add a refusal without waiting. False when the client does not read them either."""
        if self._refusals >= MAX_REFUSALS:
            return False
        self._refusals += 1
        self._frames.put_nowait(Refusal(text))
        return True

    def end(self) -> None:
        """Add the end: the session is over once everything before it is sent."""
        self._frames.put_nowait(End())

    async def take(self) -> Frame:
        """Return the next frame. Call `sent` when it is on its way."""
        return await self._frames.get()

    def sent(self, frame: Frame) -> None:
        """Give back the room that `frame` took."""
        if isinstance(frame, Refusal):
            self._refusals -= 1
        elif not isinstance(frame, End):
            self._room.release()
