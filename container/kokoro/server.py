"""The uvicorn server around the application: how it listens, how it stops, with which exit code."""

import signal
import socket
import sys

import uvicorn
from starlette.applications import Starlette

from container.kokoro import logs
from container.kokoro.app import STOP_S, create_app
from container.kokoro.ending import ends_at
from container.kokoro.loading import loader
from container.kokoro.settings import Settings

MAX_MESSAGE = 1 << 20
"""Bytes of one WebSocket message, unless `max_text` needs more."""


class Server(uvicorn.Server):
    """uvicorn, but sessions are told to end before their connections are closed under them (code 1012).

    And a connection does not outlive the time that its client may read nothing: uvicorn closes one only once all that
    was written is sent, which would be never.
    """

    def __init__(self, app: Starlette, settings: Settings) -> None:
        super().__init__(_configuration(app, settings))
        self._app = app
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen. What is accepted inherits the options of the listener."""
        await super().startup(sockets)
        # twice as long: the session or the answer is ended first, with a reason for a client that does read on
        limit_ms = round(self._settings.stall_s * 2000)
        if limit_ms and hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            for listener in (listener for server in self.servers for listener in server.sockets):
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connections, end the sessions with 1001, then all the rest."""
        for server in self.servers:
            server.close()
        await self._app.state.sessions.stop(self._settings.stop_grace_s)
        await super().shutdown(sockets)


def serve(settings: Settings) -> int:
    """Serve until a signal comes (exit code 0) or the model fails to load (1); the reason is on stderr then.

    Raises SystemExit with uvicorn's own code (3) when the port cannot be had.
    """
    logs.set_up(settings)

    def stop() -> None:
        server.should_exit = True

    app = create_app(loader(settings), on_failure=stop, settings=settings)
    server = Server(app, settings)
    ends_at(signal.SIGTERM, signal.SIGINT)  # uvicorn raises the signal again after its own orderly shutdown
    server.run()
    failure = app.state.model.failure
    if failure is not None:
        sys.stderr.write(f"error: the model could not be loaded.\n{failure}\n")
    return 1 if failure is not None else 0


def _configuration(app: Starlette, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        lifespan="on",
        log_config=None,  # one format, set up in `serve`
        access_log=False,  # /ping comes every few seconds
        ws_max_size=max(MAX_MESSAGE, settings.max_text * 12 + 65_536),  # a character can be escaped in 12 bytes
        ws_per_message_deflate=False,  # PCM does not shrink, and each compressed session would cost memory and time
        ws_ping_interval=60.0,
        ws_ping_timeout=300.0,  # a client that is busy playing is not a dead one
        timeout_graceful_shutdown=STOP_S,
    )
