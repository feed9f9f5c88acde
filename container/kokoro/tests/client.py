"""What a client does with a session: send one request, collect its answer."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from container.kokoro.app import WEBSOCKET_PATH

TIMEOUT_S = 20


@dataclass
class Answer:
    """Everything between the start and the end of one request."""

    controls: list[dict[str, Any]] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        return [control["type"] for control in self.controls]

    @property
    def last(self) -> dict[str, Any]:
        return self.controls[-1]

    @property
    def audio(self) -> bytes:
        return b"".join(self.frames)


async def receive(socket: ClientConnection) -> str | bytes:
    """Receive one frame in bounded time."""
    async with asyncio.timeout(TIMEOUT_S):
        return await socket.recv()


async def control(socket: ClientConnection) -> dict[str, Any]:
    """Receive one control frame, which must be text."""
    frame = await receive(socket)
    assert isinstance(frame, str), f"expected a text frame, got {len(frame)} bytes"
    value = json.loads(frame)
    assert isinstance(value, dict)
    return value


async def answer(socket: ClientConnection) -> Answer:
    """Collect frames up to synthesis_complete or error."""
    result = Answer()
    while True:
        frame = await receive(socket)
        if isinstance(frame, bytes):
            result.frames.append(frame)
            continue
        result.controls.append(json.loads(frame))
        if result.last["type"] in ("synthesis_complete", "error"):
            return result


async def drain(socket: ClientConnection) -> None:
    """Receive until the connection is closed, which raises ConnectionClosed."""
    while True:
        await receive(socket)


async def ask(socket: ClientConnection, message: object) -> Answer:
    """Send a request (str and bytes as they are, anything else as JSON) and collect its answer."""
    await socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return await answer(socket)


async def closed(socket: ClientConnection) -> tuple[int, str]:
    """Receive until the server closes, and return the code and the reason of its close frame."""
    with pytest.raises(ConnectionClosed) as caught:
        await drain(socket)
    assert caught.value.rcvd is not None, "the connection broke without a close frame"
    return caught.value.rcvd.code, caught.value.rcvd.reason


async def opened(port: int) -> ClientConnection:
    """Open a session as soon as the server takes one and its model is ready."""
    async with asyncio.timeout(TIMEOUT_S * 6), httpx.AsyncClient() as http:
        while True:
            try:
                if (await http.get(f"http://127.0.0.1:{port}/ping")).status_code == httpx.codes.OK:
                    return await connect(f"ws://127.0.0.1:{port}{WEBSOCKET_PATH}", compression=None)
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)
