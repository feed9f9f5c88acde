"""All open sessions: how many there may be, and how they end together."""

import asyncio
import time

from starlette.websockets import WebSocket

from container.kokoro.model import Model
from container.kokoro.session import Session
from container.kokoro.settings import Settings
from container.kokoro.telemetry import Telemetry


class Sessions:
    """Admits sessions, and stops them when the server stops."""

    def __init__(self, model: Model, settings: Settings, telemetry: Telemetry) -> None:
        self._model = model
        self._settings = settings
        self._telemetry = telemetry
        self._open: set[Session] = set()
        self._stopped_at: float | None = None
        self._none_open = asyncio.Event()
        self._none_open.set()

    async def serve(self, socket: WebSocket) -> None:
        """Serve one WebSocket to its end; one too many is told so, in a frame and in the close code."""
        session = Session(socket, self._model, self._settings, self._telemetry)
        stopping = self._stopped_at is not None
        if stopping or len(self._open) >= self._settings.max_sessions:
            self._telemetry.session_refused()
            await session.turn_away(stopping=stopping)
            return
        self._open.add(session)
        self._none_open.clear()
        self._telemetry.open_sessions(len(self._open))
        try:
            await session.run()
        finally:
            self._open.discard(session)
            self._telemetry.open_sessions(len(self._open))
            if not self._open:
                self._none_open.set()

    @property
    def stopping_s(self) -> float:
        """For how long the server has been stopping, in seconds; 0 while it is not."""
        return 0.0 if self._stopped_at is None else time.monotonic() - self._stopped_at

    async def stop(self, grace_s: float) -> None:
        """Refuse new requests, let those under way end within `grace_s`, close all sessions with 1001."""
        self._stopped_at = time.monotonic()  # from now on sessions are turned away, so that the set only shrinks
        for session in self._open:
            session.stop()
        try:
            async with asyncio.timeout(grace_s):
                await self._none_open.wait()
        except TimeoutError:
            for session in self._open:
                session.cut()
            await self._none_open.wait()  # bounded: closing a socket is
