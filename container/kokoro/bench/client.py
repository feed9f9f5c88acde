"""A client that measures: when audio came, and whether playing it would have run dry."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect

from container.kokoro.app import WEBSOCKET_PATH

TIMEOUT_S = 300
BYTES_A_SECOND = 48_000

TEXT = (
    "Thank you for calling, your order left our warehouse this morning and is on its way to you. It should be with you "
    "tomorrow between nine and noon, unless the weather turns. You can follow it online. Is there anything "
    "else that I can do for you, or is that all for now?"
)
"""Four sentences, 267 characters: as long as the text of the reference measurement on ml.g5.xlarge."""


@dataclass(frozen=True)
class Heard:
    """One answer: seconds to its first audio and to its end, seconds of audio, and seconds that a player went dry."""

    first_s: float
    total_s: float
    audio_s: float
    dry_s: float
    pcm: bytes = field(default=b"", repr=False)
    """The audio itself, where it was asked for."""


@asynccontextmanager
async def session(address: str) -> AsyncGenerator[ClientConnection]:
    """Open a session at HOST:PORT."""
    url = f"ws://{address}{WEBSOCKET_PATH}"
    async with connect(url, compression=None, max_size=None, ping_interval=None) as connection:
        yield connection


async def speak(
    connection: ClientConnection,
    text: str,
    voice: str = "af_heart",
    *,
    keep: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Heard:
    """Send one text and hear it to its end; `clock` is read once in the beginning, and once for each frame.

    Raises RuntimeError when it is refused.
    """
    begun = clock()
    await connection.send(json.dumps({"text": text, "voice": voice, "request_id": "bench"}))
    first = played_until = 0.0
    dry = audio = 0.0
    kept: list[bytes] = []
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            frame = await connection.recv()
            now = clock()
            if isinstance(frame, bytes):
                if not first:
                    first = played_until = now
                dry += max(0.0, now - played_until)
                played_until = max(played_until, now) + len(frame) / BYTES_A_SECOND
                audio += len(frame) / BYTES_A_SECOND
                if keep:
                    kept.append(frame)
                continue
            message = json.loads(frame)
            if message["type"] == "synthesis_complete":
                return Heard(first - begun, now - begun, audio, dry, b"".join(kept))
            if message["type"] == "error":
                raise RuntimeError(f"{message.get('code')}: {message['message']}")


async def warm_up(address: str, text: str = TEXT) -> None:
    """Have one text spoken that counts for nothing."""
    async with session(address) as connection:
        await speak(connection, text)


def reset(transport: asyncio.BaseTransport) -> None:
    """Break a connection off with a reset, as a client does that crashes."""
    raw = transport.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101
    transport.abort()
