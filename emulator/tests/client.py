"""A low-level HTTP/2 client: it can do what no SDK would, and sees frames where SDKs see only ends."""

import asyncio
import ssl
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)

from emulator.wire.eventstream import Decoder, Header, HeaderType, Message, encode, string_header

SIGNATURE = {":date": Header(HeaderType.TIMESTAMP, 0), ":chunk-signature": Header(HeaderType.BYTES, bytes(32))}
END_OF_INPUT = encode(SIGNATURE)


def event(data: bytes, data_type: str | None = None, state: str | None = None) -> bytes:
    """Encode a payload part as the Python SDK does, with a signature that nobody checks."""
    members = {"DataType": data_type, "CompletionState": state}
    headers = {":message-type": "event", ":event-type": "PayloadPart"} | {k: v for k, v in members.items() if v}
    return encode(SIGNATURE, encode({name: string_header(value) for name, value in headers.items()}, data))


class RawStream:
    """What came back on one stream."""

    def __init__(self) -> None:
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.headers: dict[str, str] = {}
        self.messages: asyncio.Queue[Message | str] = asyncio.Queue()
        self.body = bytearray()
        self.decoder = Decoder()


class RawClient:
    """One connection; an asynchronous context manager."""

    def __init__(self, port: int, ca: Path, *, alpn: str = "h2", auto_credit: bool = True) -> None:
        self.port = port
        self.context = ssl.create_default_context(cafile=str(ca))
        self.context.set_alpn_protocols([alpn])
        self._auto_credit = auto_credit
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self._streams: dict[int, RawStream] = defaultdict(RawStream)
        self.goaway: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.closed = asyncio.Event()
        self._credited = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context)
        self.h2.initiate_connection()
        await self.flush()
        self._task = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.writer.transport.abort()

    async def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())
        await self.writer.drain()

    async def write(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def open(self, endpoint: str = "ep", headers: dict[str, str] | None = None) -> int:
        """Send a request head; returns the stream's id."""
        stream_id = self.h2.get_next_available_stream_id()
        self._streams[stream_id] = RawStream()
        head = {
            ":method": "POST",
            ":scheme": "https",
            ":authority": "localhost",
            ":path": f"/endpoints/{endpoint}/invocations-bidirectional-stream?",
            "content-type": "application/vnd.amazon.eventstream",
        }
        self.h2.send_headers(stream_id, list((head | (headers or {})).items()))
        await self.flush()
        return stream_id

    async def status(self, stream_id: int) -> int:
        async with asyncio.timeout(5):
            return await self._streams[stream_id].status

    def headers(self, stream_id: int) -> dict[str, str]:
        return self._streams[stream_id].headers

    async def send(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        self.h2.send_data(stream_id, data, end_stream=end)
        await self.flush()

    async def window(self, stream_id: int, size: int, patience: float) -> bool:
        """Wait until the server takes ``size`` more bytes; False if it doesn't within ``patience`` seconds."""
        try:
            async with asyncio.timeout(patience):
                while self.h2.local_flow_control_window(stream_id) < size:
                    self._credited.clear()
                    await self._credited.wait()
        except TimeoutError:
            return False
        return True

    async def credit(self) -> None:
        """Give the server all the window that was held back, and from now on at once."""
        self._auto_credit = True
        for stream_id, stream in self._streams.items():
            if stream.body:
                self.h2.acknowledge_received_data(len(stream.body), stream_id)
        await self.flush()

    async def next(self, stream_id: int) -> Message | str:
        """Return the next event, or how the stream ended: ``END_STREAM``, ``RST_STREAM n``, ``EOF``."""
        async with asyncio.timeout(5):
            return await self._streams[stream_id].messages.get()

    async def message(self, stream_id: int) -> Message:
        got = await self.next(stream_id)
        assert isinstance(got, Message), got
        return got

    def body(self, stream_id: int) -> bytes:
        return bytes(self._streams[stream_id].body)

    def received(self, stream_id: int) -> int:
        """Return how many bytes have come on a stream."""
        return len(self._streams[stream_id].body)

    async def _read(self) -> None:
        while data := await self.reader.read(65536):
            for happened in self.h2.receive_data(data):
                match happened:
                    case ResponseReceived():
                        self._respond(happened)
                    case DataReceived():
                        self._take(happened)
                    case StreamEnded():
                        self._streams[happened.stream_id or 0].messages.put_nowait("END_STREAM")
                    case StreamReset():
                        code = int(happened.error_code or 0)
                        self._streams[happened.stream_id or 0].messages.put_nowait(f"RST_STREAM {code}")
                    case WindowUpdated():
                        self._credited.set()
                    case ConnectionTerminated():
                        self.goaway.set_result(int(happened.error_code or 0))
                    case _:
                        pass
            await self.flush()
        self.closed.set()
        for stream in self._streams.values():
            stream.messages.put_nowait("EOF")

    def _respond(self, response: ResponseReceived) -> None:
        stream = self._streams[response.stream_id or 0]
        stream.headers = {str(name): str(value) for name, value in response.headers or ()}
        stream.status.set_result(int(stream.headers[":status"]))

    def _take(self, received: DataReceived) -> None:
        stream = self._streams[received.stream_id or 0]
        data = bytes(received.data or b"")
        stream.body += data
        if stream.headers.get("content-type") == "application/vnd.amazon.eventstream":
            for message in stream.decoder.feed(data):
                stream.messages.put_nowait(message)
        if self._auto_credit and received.flow_controlled_length:
            self.h2.acknowledge_received_data(received.flow_controlled_length, received.stream_id or 0)
