"""One HTTP/2 connection: bytes to events, events to streams."""

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import Awaitable, Callable

from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingReceived,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from emulator.http2.calm import Calm
from emulator.http2.protocol import ServerProtocol
from emulator.http2.stream import ClientGoneError, Http2Stream
from emulator.switches import Switches
from emulator.tls import note_silent_client
from emulator.trace import without_secrets

__all__ = ["Handler", "Http2Connection"]

_log = logging.getLogger("emulator.http2")
_TCP_QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_MAX_CONNECTION_WINDOW = 2**31 - 1
_DEFAULT_WINDOW = 65_535
# how often, and how many seconds each time, a client in error may go on sending
_LINGERS = 20
_LINGER = 0.1
_FAREWELL = 0.5
_MOST_LINGERING = 1000
"""Handlers of one connection that may still part with their containers when their streams are over."""

Handler = Callable[[Http2Stream], Awaitable[None]]


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
        self._ending: asyncio.TimerHandle | None = None
        self._heard = False
        self._silent = True
        self._calm = Calm(asyncio.get_running_loop().time())
        self._lost = asyncio.Event()
        self.peer = ""
        """Address of the client."""
        self.writable = asyncio.Event()
        self.writable.set()
        self.turn = asyncio.Lock()
        """Held while a stream sends one frame; first come, first served."""
        self.changed = asyncio.Event()
        """Set when the connection's window or the socket may have room again."""
        self.h2 = ServerProtocol()

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
        self._heard, self._silent = True, False
        if self._ending is not None:
            return
        if self._transport is None or self._transport.is_closing():
            return
        try:
            events = self.h2.receive_data(data)
        except ProtocolError as error:
            self._end(f"client broke the HTTP/2 protocol: {error}")  # the GOAWAY is ready
            return
        for event in events:
            self._take(event)
            if _is_idle_talk(event) and not self._calm.spend(asyncio.get_running_loop().time()):
                self._give_up()
                return
        self._acknowledge_at_once()  # sending it takes time: streams have passed frames on first, where they can
        if self._switches.quick_ack == "on" and _TCP_QUICKACK is None:
            self.h2.increment_flow_control_window(1)  # elsewhere than on Linux, a frame for the ACK to ride on
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all streams."""
        if self._ending is not None:
            self._ending.cancel()
        if self._silent and self._transport is not None:
            note_silent_client(self._transport)
        self._lost.set()
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
        self._silent = False
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        if self._transport is not None and not self._transport.is_closing():
            with contextlib.suppress(ProtocolError):
                self.h2.close_connection()
            self.flush()
            self._transport.close()
        if self._transport is not None:
            # a loop that ends before would leave the socket open; an idle client need not answer a TLS close
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    await self._lost.wait()
            self._transport.abort()
            await self._lost.wait()

    def _give_up(self) -> None:
        with contextlib.suppress(ProtocolError):
            self.h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
        self._end("client floods the connection with PING, SETTINGS, RST_STREAM or empty DATA frames")

    def _end(self, why: str) -> None:
        _log.warning("%s", why)
        self.flush()
        self._lose_all(why)
        self._linger(_LINGERS)

    def _linger(self, times: int) -> None:
        """Close when the client has stopped sending: closed under it, TCP would take the GOAWAY back."""
        self._heard = False
        self._ending = asyncio.get_running_loop().call_later(_LINGER, self._close_if_silent, times)

    def _close_if_silent(self, times: int) -> None:
        if self._heard and times > 1:
            self._linger(times - 1)
        elif self._transport is not None:
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
                    who = "client reset the stream" if event.remote_reset else "client broke the HTTP/2 protocol"
                    stream.lose(f"{who} ({event.error_code!s})")
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
        unended = sum(stream.open for stream in self._streams.values())
        if unended >= self._switches.max_streams or len(self._streams) - unended >= _MOST_LINGERING:
            _log.warning("a stream was refused: %d are open, of %d that are served", unended, len(self._streams))
            with contextlib.suppress(ProtocolError):  # the client may have reset it in the same breath
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
        except ClientGoneError as gone:
            _log.debug("%s was not answered: %s", without_secrets(stream.path), gone)
        except Exception:  # noqa: BLE001  # whatever it is, its client must get an answer
            # no answer at all would hang an SDK for ever
            _log.exception("the handler of %s failed", without_secrets(stream.path))
            await stream.give_up()
        finally:
            stream.release()
            del self._streams[stream.id]

    def _acknowledge_at_once(self) -> None:
        if self._switches.quick_ack == "on" and _TCP_QUICKACK is not None and self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_QUICKACK, 1)


def _is_idle_talk(event: Event) -> bool:
    match event:
        case PingReceived() | RemoteSettingsChanged() | StreamReset():
            return True
        case DataReceived():
            return not event.data and event.stream_ended is None
        case _:
            return False


def _text(raw: bytes | str) -> str:
    # header bytes outside ASCII are opaque; latin-1 keeps each of them
    return raw if isinstance(raw, str) else raw.decode("latin-1")
