"""Containers for the emulator's own tests: scripted WebSocket servers that see raw frames."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame

if TYPE_CHECKING:
    from websockets.http11 import Request

__all__ = ["Container", "container", "echo"]


class Container:
    """What a container saw."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.requests: list[Request] = []
        self.connections: list[ServerConnection] = []
        self.closed: asyncio.Queue[tuple[int | None, str | None]] = asyncio.Queue()
        self.url = ""

    async def close_seen(self) -> tuple[int | None, str | None]:
        """Return code and reason of the next session's end as the container saw it."""
        async with asyncio.timeout(5):
            return await self.closed.get()


Handler = Callable[[ServerConnection], Awaitable[None]]


async def echo(connection: ServerConnection) -> None:
    """Send every message back with its type."""
    async for message in connection:
        await connection.send(message)


class _Watched(ServerConnection):
    """Notes every frame before the library joins fragments."""

    seen: Container

    def process_event(self, event: object) -> None:
        if isinstance(event, Frame):
            self.seen.frames.append(f"{event.opcode.name}{'' if event.fin else ' FIN=0'} {bytes(event.data)!r}")
        super().process_event(event)  # type: ignore[arg-type]  # Request or Frame


@contextlib.asynccontextmanager
async def container(handler: Handler = echo) -> AsyncIterator[Container]:
    """Run a container on a free port of 127.0.0.1."""
    seen = Container()
    watched = type("Watched", (_Watched,), {"seen": seen})

    async def run(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.requests.append(connection.request)
        seen.connections.append(connection)
        try:
            with contextlib.suppress(ConnectionClosed):
                await handler(connection)
        finally:
            with contextlib.suppress(ConnectionClosed):
                await connection.close()
            seen.closed.put_nowait((connection.close_code, connection.close_reason))

    async with serve(
        run, "127.0.0.1", 0, compression=None, max_size=None, ping_interval=None, create_connection=watched
    ) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        seen.url = f"ws://127.0.0.1:{port}"
        yield seen
