"""Serving the containers of the test bench on a port of 127.0.0.1."""

import asyncio
import contextlib
import importlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hypercorn.asyncio
import uvicorn
from hypercorn.config import Config

from contract_tests import broken, good
from contract_tests.containers import Container
from emulator.launch import launched
from emulator.tests.required import lacking

START_TIMEOUT_S = 90


def named(name: str) -> Container:
    """Return the one container of that name."""
    (container,) = [each for each in (*good.CONTAINERS, *broken.CONTAINERS) if each.name == name]
    return container


def start_uvicorn(container: Container, listener: socket.socket) -> Callable[[], None]:
    config = uvicorn.Config(container.app, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name=container.name)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()

    return stop


def start_hypercorn(container: Container, listener: socket.socket) -> Callable[[], None]:
    module, attribute = container.app.split(":")
    app: Any = getattr(importlib.import_module(module), attribute)
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.graceful_timeout = 1
    loop = asyncio.new_event_loop()
    asked = asyncio.Event()

    async def trigger() -> None:
        await asked.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(hypercorn.asyncio.serve(app, config, shutdown_trigger=trigger))

    thread = threading.Thread(target=run, name=container.name)
    thread.start()

    def stop() -> None:
        loop.call_soon_threadsafe(asked.set)
        thread.join(10)
        assert not thread.is_alive()

    return stop


@contextlib.contextmanager
def served(container: Container) -> Iterator[int]:
    """Serve `container`: an ASGI app in this process, where it starts faster, anything else in one of its own.

    The test is skipped where that cannot be started; with CONTAINER_TESTS_REQUIRED=1 it fails.
    """
    if container.missing:
        lacking(f"{container.name} cannot be started here: {container.missing}")
    if ":" not in container.app:
        with launched(container.target, START_TIMEOUT_S, Path.cwd()) as url:
            yield urlsplit(url).port or 0
        return
    # connections wait in the listener until the server is up
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]
    stop = (start_uvicorn if container.server == "uvicorn" else start_hypercorn)(container, listener)
    try:
        yield port
    finally:
        stop()
