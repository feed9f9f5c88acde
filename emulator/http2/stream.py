"""One HTTP/2 request and its response."""

import asyncio
import collections
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

if TYPE_CHECKING:
    from emulator.http2.connection import Http2Connection

__all__ = ["ClientGoneError", "Http2Stream"]


class ClientGoneError(Exception):
    """Raised when the client reset its stream or lost its connection."""


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
        self._at_once: Callable[[bytes], bytes | None] | None = None
        self._stream_window = asyncio.Event()
        self._started = False
        self._input_ended = False
        self._output_ended = False
        self._reset = False
        self._gone: str | None = None
        self.gone = asyncio.Event()
        """Set when the client has reset the stream or lost its connection."""
        self.sent = 0
        """Bytes of the response body that have left."""

    @property
    def open(self) -> bool:
        """Whether the stream counts against the limit of open ones (RFC 9113, section 5.1.2)."""
        return self._gone is None and not self._reset and not (self._input_ended and self._output_ended)

    async def receive(self, at_once: Callable[[bytes], bytes | None] | None = None) -> bytes | None:
        """Return the next bytes of the request body, None at its end.

        While this waits, ``at_once`` is called with what comes, in the callback of the socket: a task would run one
        turn of the event loop later. It returns None where it has passed all of it on, else what is to be returned
        here: the bytes themselves where it has done nothing with them.

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
            self._at_once = at_once
            try:
                await self._arrived.wait()
            finally:
                self._at_once = None
        self._raise_if_gone()
        data, self._owed = self._chunks.popleft()
        return data

    async def start(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the response headers at once: clients wait for them before they send."""
        self._raise_if_gone()
        self._connection.h2.send_headers(self.id, [(":status", str(status)), *headers])
        self._started = True
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
                    self.sent += size
                    view = view[size:]
                    continue
            await self._stream_window.wait()

    @property
    def room(self) -> int:
        """How many bytes can be sent as one DATA frame now, without waiting for anything."""
        connection = self._connection
        if self._gone is not None or connection.turn.locked() or not connection.writable.is_set():
            return 0
        return min(connection.h2.local_flow_control_window(self.id), connection.h2.max_outbound_frame_size)

    def send_now(self, data: bytes) -> None:
        """Send bytes as one DATA frame; there must be ``room``."""
        self._connection.h2.send_data(self.id, data)
        self._connection.flush()
        self.sent += len(data)

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
            self._reset_with(ErrorCodes.NO_ERROR)

    def reset(self) -> None:
        """End the response with RST_STREAM, which clients can take for a clean end."""
        if self._gone is None and not self._output_ended:
            self._output_ended = True
            self._reset_with(ErrorCodes.INTERNAL_ERROR)

    def _reset_with(self, code: ErrorCodes) -> None:
        self._reset = True
        self._connection.h2.reset_stream(self.id, code)
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
        if self._at_once is not None and not self._chunks and self._gone is None:
            rest = self._at_once(data)
            if rest is None:
                self._connection.acknowledge(credit, self.id)
                return
            data = rest
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
        if owed:
            self._connection.acknowledge(owed, self.id)

    async def wait_gone(self) -> ClientGoneError:
        """Wait until the client has reset the stream or lost its connection; return what became of it."""
        await self.gone.wait()
        return ClientGoneError(self._gone)

    def _raise_if_gone(self) -> None:
        if self._gone is not None:
            raise ClientGoneError(self._gone)
