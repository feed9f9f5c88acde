"""An HTTP/2 server connection over asyncio, with the timing and the endings that AWS SDK clients need.

Ready-made servers answer too late, end streams with a reset, or break on the GOAWAY of JavaScript clients; so this is
``h2`` under a thin shell. ``SDK`` in the comments is the Python SDK with its CRT transport.
"""

import asyncio
import collections
import contextlib
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import override

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hyperframe.frame import Frame, GoAwayFrame

from emulator.switches import Switches

__all__ = ["ClientGoneError", "Handler", "Http2Connection", "Http2Stream"]

_log = logging.getLogger("emulator.http2")
_TCP_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_MAX_CONNECTION_WINDOW = 2**31 - 1
_DEFAULT_WINDOW = 65_535


class ClientGoneError(Exception):
    """Raised when the client reset its stream or lost its connection."""


class _TolerantConnection(H2Connection):
    """Lets open streams go on after a GOAWAY(NO_ERROR), as RFC 9113 section 6.8 says.

    JavaScript clients send one right after the response headers; stock ``h2`` then takes the connection for closed.
    """

    @property
    @override
    def open_inbound_streams(self) -> int:
        # h2 takes the whole connection down when a client opens one stream too many; it is refused alone (_begin)
        super().open_inbound_streams  # noqa: B018  # forgets closed streams
        return 0

    @override
    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        if frame.error_code:
            return super()._receive_goaway_frame(frame)
        event = ConnectionTerminated()
        event.error_code = ErrorCodes.NO_ERROR
        event.last_stream_id = frame.last_stream_id
        return [], [event]


Handler = Callable[["Http2Stream"], Awaitable[None]]


class Http2Stream:
    """One request and its response. ``headers`` without the pseudo-headers, names in lower case."""

    def __init__(self, connection: "Http2Connection", stream_id: int, headers: list[tuple[str, str]]) -> None:
        pseudo = dict(header for header in headers if header[0].startswith(":"))
        self.method = pseudo.get(":method", "")
        self.path = pseudo.get(":path", "")
        self.authority = pseudo.get(":authority", "")
        self.scheme = pseudo.get(":scheme", "")
        self.headers = [header for header in headers if not header[0].startswith(":")]
        self.peer = connection.peer
        self.id = stream_id
        self._connection = connection
        self._chunks: collections.deque[tuple[bytes, int]] = collections.deque()
        self._owed = 0
        self._arrived = asyncio.Event()
        self._stream_window = asyncio.Event()
        self._started = False
        self._input_ended = False
        self._output_ended = False
        self._gone: str | None = None
        self.gone = asyncio.Event()
        """Set when the client has reset the stream or lost its connection."""

    async def receive(self) -> bytes | None:
        """Return the next bytes of the request body, None at its end.

        The bytes of the call before are given back to the client's window now, when they have been passed on: a slow
        container slows the client down.

        Raises:
            ClientGoneError: the client reset the stream or lost the connection.
        """
        self._credit()
        while not self._chunks:
            self._raise_if_gone()
            if self._input_ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        self._raise_if_gone()
        data, self._owed = self._chunks.popleft()
        return data

    async def start(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the response headers at once: clients wait for them before they send."""
        self._raise_if_gone()
        self._started = True
        self._connection.h2.send_headers(self.id, [(":status", str(status)), *headers])
        self._connection.flush()

    async def send(self, data: bytes) -> None:
        """Send bytes of the response body; waits for the client's window and for the socket.

        Raises:
            ClientGoneError: the client reset the stream or lost the connection.
        """
        view = memoryview(data)
        connection = self._connection
        while view:
            # one frame a turn: the streams of a connection share its window, and whoever sends much must not take
            # all of it from the others
            async with connection.turn:
                size = await self._room(len(view))
                if size:
                    connection.h2.send_data(self.id, view[:size])
                    connection.flush()
                    view = view[size:]
                    continue
            await self._stream_window.wait()

    async def _room(self, wanted: int) -> int:
        """Wait for the socket and the connection's window; return 0 where the stream's own window is closed."""
        connection = self._connection
        while True:
            self._raise_if_gone()
            window = connection.h2.local_flow_control_window(self.id)
            if connection.writable.is_set() and window > 0:
                return min(window, connection.h2.max_outbound_frame_size, wanted)
            if connection.writable.is_set() and connection.h2.outbound_flow_control_window > 0:
                self._stream_window.clear()
                return 0
            connection.changed.clear()
            await connection.changed.wait()

    def end(self) -> None:
        """End the response with END_STREAM.

        No RST_STREAM follows: it leaves the SDK hanging in ``send()`` or ``close()``. What the client still sends is
        read and dropped by the connection.
        """
        if self._gone is None and not self._output_ended:
            self._output_ended = True
            self._connection.h2.end_stream(self.id)
            self._connection.flush()

    async def fail(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Answer with a whole error response.

        RST_STREAM(NO_ERROR) follows it: SDK 0.4 and older wait for their own end of input otherwise.
        """
        await self.start(status, headers)
        await self.send(body)
        self.end()
        if not self._input_ended and self._gone is None:
            self._connection.h2.reset_stream(self.id, ErrorCodes.NO_ERROR)
            self._connection.flush()

    def reset(self) -> None:
        """End the response with RST_STREAM, which clients can take for a clean end."""
        if self._gone is None and not self._output_ended:
            self._output_ended = True
            self._connection.h2.reset_stream(self.id, ErrorCodes.INTERNAL_ERROR)
            self._connection.flush()

    def drop_connection(self) -> None:
        """Reset the client's TCP connection, with all its streams: a fault on demand."""
        self._connection.drop()

    async def give_up(self) -> None:
        """Answer with HTTP 500, or cut the stream where the answer has begun: nobody knows what to say."""
        with contextlib.suppress(ClientGoneError, ProtocolError):
            if self._started:
                self.reset()
            else:
                headers = [("content-type", "application/json"), ("x-amzn-errortype", "InternalServerError")]
                await self.fail(500, headers, b'{"Message":"The emulator failed; its log says why."}')

    # --- what the connection calls ---

    def feed(self, data: bytes, credit: int) -> None:
        """Take a DATA frame; ``credit`` bytes of window go back when it has been passed on."""
        self._chunks.append((data, credit))
        self._arrived.set()

    def feed_end(self) -> None:
        """The client ended its side."""
        self._input_ended = True
        self._arrived.set()

    def lose(self, why: str) -> None:
        """The client is gone."""
        self._gone = why
        self.gone.set()
        self._arrived.set()
        self._stream_window.set()

    def window_opened(self) -> None:
        """The client may have room again."""
        self._stream_window.set()

    def release(self) -> None:
        """Give back the window of everything unread: the connection's window is shared with all other streams."""
        while self._chunks:
            self._credit()
            self._owed = self._chunks.popleft()[1]
        self._credit()

    def _credit(self) -> None:
        owed, self._owed = self._owed, 0
        if owed and self._gone is None:
            self._connection.acknowledge(owed, self.id)

    def _raise_if_gone(self) -> None:
        if self._gone is not None:
            raise ClientGoneError(self._gone)


class Http2Connection(asyncio.Protocol):
    """One client connection; runs ``handler`` in a task of its own for every stream."""

    def __init__(self, handler: Handler, switches: Switches, peers: set["Http2Connection"]) -> None:
        self._handler = handler
        self._switches = switches
        self._peers = peers
        self._streams: dict[int, Http2Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self.peer = ""
        """Address of the client."""
        self.writable = asyncio.Event()
        self.writable.set()
        self.turn = asyncio.Lock()
        """Held while a stream sends one frame; first come, first served."""
        self.changed = asyncio.Event()
        """Set when the connection's window or the socket may have room again."""
        self.h2 = _TolerantConnection(H2Configuration(client_side=False, header_encoding=None))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the client."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what create_server gives
        self._transport = transport
        self._peers.add(self)
        self._socket = transport.get_extra_info("socket")
        peer = transport.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else ""
        self.h2.initiate_connection()
        self.h2.update_settings(
            {
                SettingCodes.INITIAL_WINDOW_SIZE: self._switches.window,
                SettingCodes.MAX_CONCURRENT_STREAMS: self._switches.max_streams,
            }
        )
        # SDKs put all streams on one connection: a window of the connection's own size would let one
        # unread stream block all others
        window = min(self._switches.window * self._switches.max_streams, _MAX_CONNECTION_WINDOW)
        self.h2.increment_flow_control_window(max(window - _DEFAULT_WINDOW, 1))
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Feed the protocol; re-arm the quick ACK, which Linux takes back after every use."""
        self._acknowledge_at_once()
        if self._transport is None or self._transport.is_closing():
            return
        try:
            events = self.h2.receive_data(data)
        except ProtocolError as error:
            _log.warning("client broke the HTTP/2 protocol: %s", error)
            self.flush()  # carries the GOAWAY
            self._transport.close()
            self._lose_all(f"client broke the HTTP/2 protocol: {error}")
            return
        for event in events:
            self._take(event)
        if self._switches.quick_ack == "on" and _TCP_QUICKACK is None:
            self.h2.increment_flow_control_window(1)  # elsewhere than on Linux, a frame for the ACK to ride on
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all streams."""
        self._peers.discard(self)
        self.writable.set()
        self.changed.set()
        self._lose_all("connection lost" if exc is None else f"connection lost: {exc}")

    def pause_writing(self) -> None:
        """The client does not read fast enough."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """The client reads again."""
        self.writable.set()
        self.changed.set()

    def flush(self) -> None:
        """Write what ``h2`` has ready."""
        data = self.h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def acknowledge(self, size: int, stream_id: int) -> None:
        """Give ``size`` bytes of window back to the client."""
        # the stream may be over: then only the connection's window counts, which h2 credits by itself
        with contextlib.suppress(ProtocolError):
            self.h2.acknowledge_received_data(size, stream_id)
            self.flush()

    def drop(self) -> None:
        """Reset the TCP connection."""
        if self._transport is not None:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()

    async def shut_down(self) -> None:
        """Wait for the handlers, which their owner has told to end, then say GOAWAY and close."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        if self._transport is not None and not self._transport.is_closing():
            with contextlib.suppress(ProtocolError):
                self.h2.close_connection()
            self.flush()
            self._transport.close()

    def _lose_all(self, why: str) -> None:
        for stream in self._streams.values():
            stream.lose(why)
        self.changed.set()

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                self._begin(event)
            case DataReceived():
                self._take_data(event)
            case StreamEnded():
                if (stream := self._stream(event.stream_id)) is not None:
                    stream.feed_end()
            case StreamReset():
                if (stream := self._stream(event.stream_id)) is not None:
                    stream.lose(f"client reset the stream ({event.error_code!s})")
                    self.changed.set()
            case WindowUpdated() | RemoteSettingsChanged():
                self.changed.set()
                for stream in self._streams.values():
                    stream.window_opened()
            case ConnectionTerminated():
                if event.error_code and self._transport is not None:
                    self._transport.close()
                    self._lose_all(f"client gave the connection up ({event.error_code!s})")

    def _take_data(self, event: DataReceived) -> None:
        stream = self._stream(event.stream_id)
        credit = event.flow_controlled_length or 0
        if stream is not None:
            stream.feed(bytes(event.data or b""), credit)
        elif credit and event.stream_id is not None:
            self.acknowledge(credit, event.stream_id)  # its handler is done: drop

    def _stream(self, stream_id: int | None) -> Http2Stream | None:
        return self._streams.get(stream_id) if stream_id is not None else None

    def _begin(self, event: RequestReceived) -> None:
        headers = [(_text(name), _text(value)) for name, value in event.headers or ()]
        if len(self._streams) >= self._switches.max_streams:
            self.h2.reset_stream(event.stream_id or 0, ErrorCodes.REFUSED_STREAM)
            return
        stream = Http2Stream(self, event.stream_id or 0, headers)
        self._streams[stream.id] = stream
        task = asyncio.get_running_loop().create_task(self._run(stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, stream: Http2Stream) -> None:
        try:
            await self._handler(stream)
        except Exception:  # noqa: BLE001  # whatever it is, its client must get an answer
            # no answer at all would hang an SDK for ever
            _log.exception("the handler of %s failed", stream.path)
            await stream.give_up()
        finally:
            stream.release()
            del self._streams[stream.id]

    def _acknowledge_at_once(self) -> None:
        if self._switches.quick_ack == "on" and _TCP_QUICKACK is not None and self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_QUICKACK, 1)


def _text(raw: bytes | str) -> str:
    # header bytes outside ASCII are opaque; latin-1 keeps each of them
    return raw if isinstance(raw, str) else raw.decode("latin-1")
