"""What every client has to work with: an emulator in front of containers that answer, refuse, die and fail."""

import asyncio
import contextlib
import http
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from emulator import Endpoint, Server
from emulator.tests.containers import Container, Handler, container, echo

__all__ = ["ENDPOINTS", "HERE", "SPOKEN", "Stage", "results", "stage"]

HERE = Path(__file__).parent
ENDPOINTS = ("echo", "nobody", "refuses", "dies", "fails", "leaves")
SPOKEN = [
    ["héllo", "UTF8"],
    ["102400 bytes, sha256 27783e87963a4efb6829b531c9ba57b44f45797f6770bd637fbf0d807cbdbae0", "BINARY"],
    ['{"text": "hi"}', "BINARY"],
]
"""What an echo gives back to a client that says what all of them say (``programs/common.py``)."""
_TIMEOUT_S = 240


class Stage:
    """The endpoints ``echo``, ``refuses`` (the WebSocket), ``dies`` (at the first message), ``fails`` (with 1011) and
    ``leaves`` (with 1000, after an answer).

    ``nobody`` is not among them, so that a client can ask for an endpoint that does not exist.
    """

    def __init__(self, server: Server, container: Container) -> None:
        self.server = server
        self.container = container
        """That of the endpoint ``echo``."""

    @property
    def environment(self) -> dict[str, str]:
        """What a user exports, beside what a program needs to run at all."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, **self.server.certificates.environment(self.server.url), "PYTHONPATH": str(HERE)}


async def _dies(connection: ServerConnection) -> None:
    await connection.recv()
    connection.transport.abort()


async def _fails(connection: ServerConnection) -> None:
    await connection.recv()
    await connection.close(1011, "out of memory")


async def _leaves(connection: ServerConnection) -> None:
    await connection.send(await connection.recv())


@contextlib.asynccontextmanager
async def stage(state: Path, handler: Handler = echo, port: int = 0) -> AsyncIterator[Stage]:
    """Run the emulator and its containers on free ports; ``port`` is that of the emulator."""

    def refuse(connection: ServerConnection, _: Request) -> Response:
        return connection.respond(http.HTTPStatus.FORBIDDEN, "no capacity")

    async def never(_: ServerConnection) -> None:
        raise AssertionError

    async with (
        container(handler) as answers,
        container(_dies) as dies,
        container(_fails) as fails,
        container(_leaves) as leaves,
        serve(never, "127.0.0.1", 0, process_request=refuse) as refuses,
    ):
        refusing = f"ws://127.0.0.1:{next(iter(refuses.sockets)).getsockname()[1]}"
        containers = {"echo": answers, "dies": dies, "fails": fails, "leaves": leaves}
        endpoints = {name: Endpoint(each.url) for name, each in containers.items()} | {"refuses": Endpoint(refusing)}
        async with Server(endpoints, port=port, state_directory=state) as server:
            yield Stage(server, answers)


async def results(on: Stage, *command: str | Path, **environment: str) -> dict[str, dict[str, Any]]:
    """Run a client program; returns what it printed, by endpoint."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=on.environment | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            out, err = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, f"{out.decode()}\n{err.decode()}"
    lines = [json.loads(line) for line in out.splitlines()]
    return {line.pop("endpoint"): line for line in lines}
