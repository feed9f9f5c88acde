"""The speech sessions of all conversations: made for a turn, or kept for the next one of the same conversation."""

import asyncio
from collections.abc import Callable

from container.agent.request import Request
from container.agent.speech import SpeechSession

__all__ = ["IDLE_S", "SpeechSessions"]

IDLE_S = 60.0
"""How long a kept session may stay open without a turn: an open one holds a place in the container."""


class SpeechSessions:
    """Lends sessions. Two turns never share one, nor do two voices."""

    def __init__(self, make: Callable[[Request], SpeechSession], *, idle_s: float = IDLE_S) -> None:
        self._make = make
        self._idle_s = idle_s
        self._kept: dict[tuple[str, str | None, float | None], SpeechSession] = {}
        self._timers: dict[SpeechSession, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def borrow(self, conversation: str | None, request: Request) -> SpeechSession:
        """Return a session for one turn; None: of no conversation, so that it is a new one."""
        kept = self._kept.pop((conversation, request.voice, request.speed), None) if conversation else None
        if kept is None:
            return self._make(request)
        self._timers.pop(kept).cancel()
        return kept

    async def give_back(self, conversation: str | None, request: Request, session: SpeechSession) -> None:
        """Keep a session whose turn is over, or close it."""
        key = (conversation or "", request.voice, request.speed)
        if not conversation or key in self._kept:
            await session.close()
            return
        self._kept[key] = session
        self._timers[session] = asyncio.get_running_loop().call_later(self._idle_s, self._expire, key, session)

    def _expire(self, key: tuple[str, str | None, float | None], session: SpeechSession) -> None:
        del self._kept[key], self._timers[session]
        task = asyncio.create_task(session.close(), name="speech-expiry")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all that are kept."""
        for timer in self._timers.values():
            timer.cancel()
        sessions = list(self._kept.values())
        self._kept.clear()
        self._timers.clear()
        await asyncio.gather(*(session.close() for session in sessions), *self._closing, return_exceptions=True)
