"""The application on real servers, each in a thread with an event loop of its own, or in a process of its own."""

import asyncio
import os
import socket
import sys
import threading
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import hypercorn.asyncio
from hypercorn.config import Config as HypercornConfig
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect

from container.kokoro.app import WEBSOCKET_PATH
from container.kokoro.server import MAX_MESSAGE, Server
from container.kokoro.settings import Settings
from container.kokoro.tests import faked

SERVERS = ("uvicorn", "hypercorn")


@contextmanager
def serving(app: Starlette, name: str, settings: Settings | None = None) -> Generator[int]:
    """Serve `app` with "uvicorn" or "hypercorn" on a free port of 127.0.0.1, which is listening already."""
    # named as TCP: asyncio switches Nagle's algorithm off only then
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port: int = listener.getsockname()[1]
    with _uvicorn(app, listener, settings or Settings()) if name == "uvicorn" else _hypercorn(app, listener):
        yield port


@contextmanager
def _uvicorn(app: Starlette, listener: socket.socket, settings: Settings) -> Generator[None]:
    server = Server(app, settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "uvicorn did not stop"


@contextmanager
def _hypercorn(app: Starlette, listener: socket.socket) -> Generator[None]:
    config = HypercornConfig()
    config.bind = [f"fd://{listener.detach()}"]
    config.graceful_timeout = 5
    config.websocket_max_message_size = MAX_MESSAGE
    ready = threading.Event()
    loop: Any = None
    stop: Any = None

    async def run() -> None:
        nonlocal loop, stop
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        ready.set()
        await hypercorn.asyncio.serve(app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]  # ASGI typing

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(20)
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        assert not thread.is_alive(), "hypercorn did not stop"


@asynccontextmanager
async def session(port: int) -> AsyncIterator[ClientConnection]:
    """Open a WebSocket session."""
    async with connect(f"ws://127.0.0.1:{port}{WEBSOCKET_PATH}", compression=None, max_size=None) as socket_:
        yield socket_


@asynccontextmanager
async def running(server: str, **environment: str) -> AsyncIterator[tuple[Process, int]]:
    """Run `uvicorn` or `hypercorn` as people do who bring a server of their own, with a fake model; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = ["--bind", f"127.0.0.1:{port}"] if server == "hypercorn" else ["--port", str(port)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-m", server, f"{faked.__name__}:app", *where),
        stdout=DEVNULL,
        stderr=PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield process, port
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
