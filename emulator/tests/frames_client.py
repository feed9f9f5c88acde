"""An HTTP/2 client that sends whatever frames it is told to, right or wrong, and says what came back."""

import asyncio
import contextlib
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from h2.errors import ErrorCodes
from hpack import Decoder, Encoder
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, RstStreamFrame, SettingsFrame

__all__ = ["PREFACE", "REQUEST", "FramesClient", "frame"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CODES = [code.name for code in ErrorCodes]
REQUEST = [
    (":method", "POST"),
    (":scheme", "https"),
    (":authority", "localhost"),
    (":path", "/endpoints/ep/invocations-bidirectional-stream"),
    ("content-type", "application/vnd.amazon.eventstream"),
]
_PATIENCE_S = 10


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", length: int | None = None) -> bytes:
    """Encode a frame by its numbers (RFC 9113, section 4.1); ``length`` lies about the payload."""
    size = len(payload) if length is None else length
    return size.to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


class FramesClient:
    """One TLS connection with ALPN h2; an asynchronous context manager that sends preface and SETTINGS."""

    def __init__(self, port: int, ca: Path, *, greet: bool = True) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca))
        self._context.set_alpn_protocols(["h2"])
        self._greet = greet
        self._encoder = Encoder()
        self._decoder = Decoder()
        self._buffer = bytearray()
        self._next_ping = 1
        self.settings: dict[int, int] = {}
        self.seen: list[Frame] = []
        """Every frame that came."""

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context)
        if self._greet:
            await self.send(PREFACE + frame(4))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.writer.transport.abort()

    async def send(self, *raw: bytes) -> None:
        self.writer.writelines(raw)
        with contextlib.suppress(ConnectionError):  # what the server said before it left is still to be read
            await self.writer.drain()

    def block(self, headers: list[tuple[str, str]]) -> bytes:
        """Encode a header block; all blocks of a connection in the order in which they are sent."""
        return self._encoder.encode(headers)

    def request(self, stream: int = 1, *, end: bool = False, headers: list[tuple[str, str]] | None = None) -> bytes:
        """Encode a whole request head."""
        return frame(1, 4 | end, stream, self.block(REQUEST if headers is None else headers))

    async def read(self) -> Frame | None:
        """Return the next frame, None where the server ended the connection."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                if len(self._buffer) >= 9:
                    head, length = Frame.parse_frame_header(memoryview(self._buffer[:9]))
                    if len(self._buffer) >= 9 + length:
                        head.parse_body(memoryview(bytes(self._buffer[9 : 9 + length])))
                        del self._buffer[: 9 + length]
                        self.seen.append(head)
                        if isinstance(head, SettingsFrame):
                            self.settings |= head.settings
                        return head
                try:
                    data = await self.reader.read(65536)
                except ConnectionError:
                    return None
                if not data:
                    return None
                self._buffer += data

    async def outcome(self) -> str:
        """Return how the server took what was sent.

        ``GOAWAY CODE`` or ``closed`` where it ended the connection, ``RST_STREAM n CODE`` where it ended a stream, else
        ``alive``: it answered a Ping that was sent now.
        """
        number = self._next_ping.to_bytes(8)
        self._next_ping += 1
        await self.send(frame(6, 0, 0, number))
        while (got := await self.read()) is not None:
            if isinstance(got, GoAwayFrame):
                assert await self._ended(), "the connection stayed open after a GOAWAY"
                return f"GOAWAY {CODES[got.error_code]}"
            if isinstance(got, RstStreamFrame):
                return f"RST_STREAM {got.stream_id} {CODES[got.error_code]}"
            if isinstance(got, PingFrame) and got.opaque_data == number:
                return "alive"
        return "closed"

    async def until(self, kind: type[Frame], stream: int = 0) -> Any:
        """Return the next frame of a kind on a stream."""
        while (got := await self.read()) is not None:
            if isinstance(got, kind) and got.stream_id == stream:
                return got
        raise AssertionError(f"the connection ended before a {kind.__name__}")

    async def status(self, stream: int = 1) -> int:
        """Return the status of the answer on a stream."""
        head: HeadersFrame = await self.until(HeadersFrame, stream)
        return int(dict(self._decoder.decode(head.data, raw=True))[b":status"])

    async def data(self, stream: int, size: int) -> bytes:
        """Return at least ``size`` bytes of the answer's body."""
        body = b""
        while len(body) < size:
            got: DataFrame = await self.until(DataFrame, stream)
            body += got.data
        return body

    async def _ended(self) -> bool:
        while await self.read() is not None:
            pass
        return True
