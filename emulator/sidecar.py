"""The sidecar: dials the container's WebSocket, as SageMaker does on the instance.

It works on frames, not on messages: a library that joins fragments cannot stand on this side (fact
``frame.one-to-one``). The protocol itself is the sans-I/O layer of ``websockets``.
"""

import asyncio
import contextlib
import logging
import re
from collections import deque
from collections.abc import Callable
from typing import override

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode as WireOpcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import parse_uri

from emulator import facts
from emulator.switches import Switches
from emulator.wire.frames import Frame, Opcode
from emulator.wire.socket_events import NO_CLOSE_FRAME, Closed, Event, Lost, Ping, Pong

__all__ = ["Closed", "Lost", "Ping", "Pong", "Sidecar", "UpgradeRefusedError"]

# a container that sends faster than the client reads is slowed down once this much waits in memory
_HIGH_WATER = 256 * 1024
_LOW_WATER = 64 * 1024
_EVENT_BYTES = 100
# of a refusal without length: bytes that are looked at, and seconds in which its body may follow its head
_MAX_ANSWER = 16 * 1024
_BODY_PATIENCE = 0.1
# the library's own log repeats, with stack traces, what the trace shows
_LOG = logging.getLogger("emulator.sidecar.websockets")
_LOG.setLevel(logging.CRITICAL)


class UpgradeRefusedError(Exception):
    """Raised when the container does not accept the WebSocket."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return self.what


class _Protocol(ClientProtocol):
    """Keeps the Close frame, also one that cannot be parsed."""

    close_data: bytes | None = None

    @override
    def recv_frame(self, frame: WireFrame) -> None:
        if frame.opcode is WireOpcode.CLOSE:
            self.close_data = bytes(frame.data)
            self.current_size = None  # inside of a fragmented message it is refused, and its code would be lost
        super().recv_frame(frame)


class _MuteProtocol(_Protocol):
    """Answers no Ping (a fault on demand)."""

    @override
    def send_frame(self, frame: WireFrame) -> None:
        if frame.opcode is not WireOpcode.PONG:
            super().send_frame(frame)


class Sidecar(asyncio.Protocol):
    """One WebSocket to the container. Make it with :meth:`connect`."""

    def __init__(
        self, host: str, port: int, target: str, request_id: str, switches: Switches, *, answer_pings: bool = True
    ) -> None:
        loop = asyncio.get_running_loop()
        self._switches = switches
        self._protocol = (_Protocol if answer_pings else _MuteProtocol)(
            parse_uri(f"ws://{f'[{host}]' if ':' in host else host}:{port}{target}"),
            max_size=(None, switches.max_part_bytes),  # of a frame: each is a part of its own
            logger=_LOG,
        )
        request = self._protocol.connect()
        request.headers[facts.text("ctr.request-id")] = request_id
        if switches.upgrade_headers == "extra":
            request.headers["Origin"] = "https://runtime.sagemaker.us-west-2.amazonaws.com"
            request.headers["User-Agent"] = "sagemaker-bidi emulator"
        self._request = request
        self._transport: asyncio.Transport | None = None
        self._events: deque[Event] = deque()
        self._queued = 0
        self._arrived = asyncio.Event()
        self._at_once: Callable[[Frame], bool] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._accepted: asyncio.Future[None] = loop.create_future()
        # who gives up while dialling never asks, and an error that nobody asked for would be logged
        self._accepted.add_done_callback(lambda accepted: accepted.cancelled() or accepted.exception())
        self._answer = bytearray()
        self._gone: asyncio.Future[None] = loop.create_future()
        self.end: Closed | Lost | None = None
        """How the container ended the connection, as soon as it is seen: frames before it may still wait."""
        self.response_headers: list[tuple[str, str]] = []
        """Of the answer to the upgrade; names in lower case."""
        self.accept_seconds = 0.0
        """How long the container took to accept, from the dial to its 101."""

    @classmethod
    async def connect(
        cls, host: str, port: int, target: str, request_id: str, switches: Switches, *, answer_pings: bool = True
    ) -> "Sidecar":
        """Dial ``ws://host:port/target`` and wait for the 101.

        Raises:
            UpgradeRefusedError: nobody listens, another answer than 101, or none within ``switches.accept_timeout``.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            sidecar = cls(host, port, target, request_id, switches, answer_pings=answer_pings)
        except InvalidURI as error:
            raise UpgradeRefusedError(f"{host}:{port} is no address that can be dialled ({error})") from None
        try:
            async with asyncio.timeout(switches.accept_timeout):
                await loop.create_connection(lambda: sidecar, host, port)
                await sidecar._accepted
        except TimeoutError:
            sidecar.abort()
            raise UpgradeRefusedError(
                f"the container did not accept the WebSocket at {target} within {switches.accept_timeout:g} s"
            ) from None
        except UnicodeError as error:  # a host name that cannot be one
            raise UpgradeRefusedError(f"{host!r} is no host name ({error})") from None
        except OSError as error:
            raise UpgradeRefusedError(
                f"nothing accepts connections at {host}:{port} ({error.strerror or error})"
            ) from None
        except BaseException:
            sidecar.abort()
            raise
        sidecar.accept_seconds = loop.time() - began
        return sidecar

    # --- what the session does ---

    async def send(self, frame: Frame) -> None:
        """Send one data frame; waits while the container does not read.

        Frames after the end of the connection are dropped: the end itself arrives through :meth:`receive`.
        """
        await self._writable.wait()
        self._send(frame)

    def send_now(self, frame: Frame) -> bool:
        """Do as :meth:`send` does, but send nothing and return False where that would wait."""
        if self._writable.is_set():
            self._send(frame)
            return True
        return False

    def _send(self, frame: Frame) -> None:
        if self._protocol.state is not State.OPEN:
            return
        match frame.opcode:
            case Opcode.TEXT:
                self._protocol.send_text(frame.data, frame.fin)
            case Opcode.BINARY:
                self._protocol.send_binary(frame.data, frame.fin)
            case Opcode.CONTINUATION:
                self._protocol.send_continuation(frame.data, frame.fin)
        self._flush()

    async def receive(self, at_once: Callable[[Frame], bool] | None = None) -> Event:
        """Return the next event. After :class:`Closed` or :class:`Lost` nothing more comes.

        While this waits, ``at_once`` is called with each frame that comes, in the callback of the socket: a task would
        run one turn of the event loop later. It returns whether it has passed the frame on.
        """
        while not self._events:
            self._arrived.clear()
            self._at_once = at_once
            try:
                await self._arrived.wait()
            finally:
                self._at_once = None
        event = self._events.popleft()
        self._queued -= _size(event)
        if self._queued <= _LOW_WATER and self._transport is not None:
            self._transport.resume_reading()
        return event

    @property
    def unread(self) -> bool:
        """Whether something of the container waits to be received; a Pong may wait behind it."""
        return bool(self._events)

    @property
    def writable(self) -> bool:
        """Whether the container reads fast enough."""
        return self._writable.is_set()

    def ping(self, payload: bytes = b"") -> None:
        """Send a Ping."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(payload)
            self._flush()

    def start_close(self, code: int, reason: str = "") -> bool:
        """Send a Close frame; False where one was sent before or the connection is gone."""
        if self._protocol.state is not State.OPEN:
            return False
        self._protocol.send_close(code, reason)
        self._flush()
        return True

    async def wait_closed(self) -> bool:
        """Wait until the container ended the TCP connection, then cut it; False if it had to be cut."""
        try:
            async with asyncio.timeout(self._switches.close_timeout):
                # not the future itself: a time-out would cancel it for everybody
                await asyncio.wait([self._gone])
        except TimeoutError:
            return False
        finally:
            self.abort()
        return True

    def abort(self) -> None:
        """Cut the connection."""
        if self._transport is not None:
            self._transport.abort()

    # --- what the loop calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the upgrade request."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what create_connection gives
        self._transport = transport
        self._protocol.send_request(self._request)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Pass bytes through the protocol."""
        self._protocol.receive_data(data)
        self._flush()
        self._take_events()
        if not self._accepted.done():
            self._look_at_answer(data)

    def _look_at_answer(self, data: bytes) -> None:
        # an answer without length ends with its connection, which a container may keep open: its status will do
        began = b"\r\n\r\n" in self._answer
        self._answer += data[:_MAX_ANSWER]
        if b"\r\n\r\n" in self._answer and not began:
            asyncio.get_running_loop().call_later(_BODY_PATIENCE, self._refused_so_far)

    def _refused_so_far(self) -> None:
        status = re.match(rb"HTTP/1\.\d (\d{3})", self._answer)
        if not self._accepted.done() and status is not None:
            body = bytes(self._answer).partition(b"\r\n\r\n")[2]
            self._accepted.set_exception(UpgradeRefusedError(_refused(int(status[1]), body)))

    def eof_received(self) -> bool:
        """Pass the end of the bytes through the protocol."""
        self._protocol.receive_eof()
        self._flush()
        self._take_events()
        if self._protocol.close_rcvd is None and self._transport is not None:
            # left to itself, asyncio would first write what the container may never read
            self._say_last(Lost(NO_CLOSE_FRAME, _dropped(None)))
            self._transport.abort()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Say what became of the connection."""
        self._protocol.receive_eof()
        self._take_events()
        if not self._accepted.done():
            self._accepted.set_exception(
                UpgradeRefusedError(f"the container dropped the connection during the upgrade ({_dropped(exc)})")
            )
        self._say_last(Lost(NO_CLOSE_FRAME, _dropped(exc)))
        self._writable.set()
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        """The container does not read fast enough."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The container reads again."""
        self._writable.set()

    # --- inside ---

    def _flush(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:
                # the socket may be gone already where both sides end it at once
                with contextlib.suppress(OSError):
                    self._transport.write_eof()

    def _take_events(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                self.response_headers = [(name.lower(), value) for name, value in event.headers.raw_items()]
                self._answered()
            elif isinstance(event, WireFrame):
                self._take_frame(event)
        if self._protocol.handshake_exc is not None and not self._accepted.done():
            self._accepted.set_exception(UpgradeRefusedError(_refusal(self._protocol.handshake_exc)))
        broken = self._protocol.parser_exc
        if broken is not None and not isinstance(broken, EOFError):
            code = self._protocol.close_sent.code if self._protocol.close_sent else 1002
            data = self._protocol.close_data
            if data is None:
                self._say_last(Lost(int(code), str(broken)))
            else:
                self._say_last(Lost.by_close(int(code), data))

    def _answered(self) -> None:
        # not asking for state OPEN: a Close in the same read as the 101 has moved it on already
        if self._protocol.handshake_exc is None and not self._accepted.done():
            self._accepted.set_result(None)

    def _take_frame(self, frame: WireFrame) -> None:
        match frame.opcode:
            case WireOpcode.CLOSE:
                close = self._protocol.close_rcvd
                if close is not None:
                    self._say_last(Closed(int(close.code), close.reason))
            case WireOpcode.PING:
                self._say(Ping(bytes(frame.data)))
            case WireOpcode.PONG:
                self._say(Pong(bytes(frame.data)))
            case _:
                self._say(Frame(Opcode(frame.opcode), bytes(frame.data), frame.fin))

    def _say(self, event: Event) -> None:
        if self._at_once is not None and not self._events and isinstance(event, Frame) and self._at_once(event):
            return
        # pings and empty frames count too, or a container could fill the memory with them
        self._queued += _size(event)
        if self._queued > _HIGH_WATER and self._transport is not None:
            self._transport.pause_reading()
        self._events.append(event)
        self._arrived.set()

    def _say_last(self, event: Closed | Lost) -> None:
        if self.end is None:
            self.end = event
            self._say(event)


def _size(event: Event) -> int:
    return _EVENT_BYTES + (len(event.data) if isinstance(event, Frame) else 0)


def _dropped(exc: Exception | None) -> str:
    return "TCP end" if exc is None else f"TCP reset: {exc}"


def _refusal(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        response = error.response
        return _refused(response.status_code, bytes(response.body or b""))
    cause = error.__cause__ or error
    return f"the container's answer to the upgrade is no valid HTTP 101 ({cause})"


def _refused(status: int, body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace").strip()
    said = f", saying {text!r}" if text else ""
    return f"the container answered the upgrade with HTTP {status} instead of 101{said}"
