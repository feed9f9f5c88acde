"""An HTTP/1.1 server connection over asyncio: ``h11`` under a thin shell."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable

import h11

from emulator.http1.headers import encoded
from emulator.http2 import ClientGoneError
from emulator.trace import without_secrets

__all__ = ["Http1Connections", "Http1Exchange"]

_log = logging.getLogger("emulator.http1")
_READ = 64 * 1024
_MAX_HEAD = 64 * 1024
# seconds in which the rest of an already answered request body is read and dropped: most clients send all of it before
# they read, and a connection closed under them hides the answer
_LINGER = 30.0
_FAREWELL = 0.2


class Http1Exchange:
    """One request and its response (see :class:`emulator.exchange.Exchange`)."""

    def __init__(
        self,
        protocol: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: h11.Request,
    ) -> None:
        self.method = request.method.decode("ascii")
        headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers]
        authority, self.path = _split_target(request.target.decode("latin-1"))
        self.authority = authority or next((value for name, value in headers if name == "host"), "")
        # RFC 9112, section 6.3: with both, somebody on the way may have seen another end of the body
        self._doubtful = {"content-length", "transfer-encoding"} <= {name for name, _ in headers}
        self.headers = [pair for pair in headers if not self._doubtful or pair[0] != "content-length"]
        self.scheme = "http" if writer.get_extra_info("ssl_object") is None else "https"
        peer = writer.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else ""
        self.started = False
        self._protocol = protocol
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes | None:
        """Return the next bytes of the request body, None at its end.

        Raises:
            ClientGoneError: the client ended the connection inside the body.
        """
        if self._protocol.they_are_waiting_for_100_continue:
            await self._write(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        try:
            event = await next_event(self._protocol, self._reader)
        except h11.RemoteProtocolError as error:
            raise ClientGoneError(f"client broke off its request: {error}") from error
        return bytes(event.data) if isinstance(event, h11.Data) else None

    async def start(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the response head. Without a content-length the body is sent in chunks."""
        self.started = True
        if self._doubtful:
            headers = [*headers, ("connection", "close")]
        await self._write(h11.Response(status_code=status, headers=encoded(headers)))

    async def send(self, data: bytes) -> None:
        """Send bytes of the response body; waits while the client does not read."""
        if data:
            await self._write(h11.Data(data=data))

    def end(self) -> None:
        """End the response."""
        if (tail := self._protocol.send(h11.EndOfMessage())) and not self._writer.is_closing():
            self._writer.write(tail)

    async def fail(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Answer with a whole error response."""
        await self.start(status, headers)
        await self.send(body)
        self.end()

    async def upgrade(self, headers: list[tuple[str, str]]) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
        """Switch to another protocol with a 101, once the request was read to its end.

        Returns what the client has sent of it already, and the connection.
        """
        self.started = True
        head = h11.InformationalResponse(status_code=101, headers=encoded(headers), reason=b"Switching Protocols")
        await self._write(head)
        return self._protocol.trailing_data[0], self._reader, self._writer

    def reset(self) -> None:
        """Break the response off by dropping the connection."""
        self._writer.transport.abort()

    async def _write(self, event: h11.Event) -> None:
        data = self._protocol.send(event)
        try:
            if data:
                self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise ClientGoneError(f"connection lost: {error}") from error


def _split_target(target: str) -> tuple[str, str]:
    """Return authority, empty where there is none, and path of a request target (RFC 9112, section 3.2.2)."""
    absolute = re.fullmatch(r"https?://([^/?]*)(.*)", target, re.IGNORECASE)
    if absolute is None:
        return "", target
    authority, path = absolute.groups()
    return authority, path if path.startswith("/") else f"/{path}"


Handler = Callable[[Http1Exchange], Awaitable[None]]


class Http1Connections:
    """All HTTP/1.1 connections of a server; each runs its requests one after the other through ``handler``."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._tasks: set[asyncio.Task[None]] = set()

    def protocol(self) -> asyncio.StreamReaderProtocol:
        """Return the protocol of a new connection."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_READ, loop=loop)
        return asyncio.StreamReaderProtocol(reader, self._connected, loop=loop)

    async def shut_down(self, patience: float = 2.0) -> None:
        """Give running requests a moment to end, then cut what is left."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def close_idle(self) -> None:
        """Cut the connections that wait for a request."""
        for task in self._tasks:
            if task.get_name() == _IDLE:
                task.cancel()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer), name=_IDLE)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        protocol = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)
        lost = asyncio.ensure_future(_wait_lost(writer))
        try:
            while await self._serve_one(protocol, reader, writer, lost):
                protocol.start_next_cycle()
        except (ClientGoneError, ConnectionError) as gone:
            _log.debug("HTTP/1.1 connection ended: %s", gone)
        except h11.LocalProtocolError as error:
            _log.error("a response could not be written as HTTP/1.1: %s", error)
        finally:
            writer.close()
            try:
                await _see_off(writer, lost)
            finally:
                writer.transport.abort()
            await lost

    async def _serve_one(
        self,
        protocol: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lost: asyncio.Future[None],
    ) -> bool:
        """Serve one request; False when the connection cannot take another."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # it is one
        try:
            event = await next_event(protocol, reader)
        except h11.RemoteProtocolError as error:
            await _refuse(protocol, writer, error)
            return False
        if not isinstance(event, h11.Request):
            return False
        if event.http_version > b"1.1":
            # JavaScript clients speak it to every http:// URL, and show nothing of an answer in HTTP/1.1
            _log.warning("a client speaks HTTP/2 without TLS: give it the https:// URL")
            await _refuse(protocol, writer, "HTTP/2 is served with TLS only", 505)
            return False
        task.set_name("http1 request")
        exchange = Http1Exchange(protocol, reader, writer, event)
        await self._run(exchange, lost)
        task.set_name(_IDLE)
        return await _finish_request(protocol, reader)

    async def _run(self, exchange: Http1Exchange, lost: asyncio.Future[None]) -> None:
        work = asyncio.ensure_future(self._handler(exchange))
        try:
            await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientGoneError("client ended the connection before the response was complete")
            try:
                work.result()
            except (ClientGoneError, h11.LocalProtocolError):
                raise
            except Exception as error:
                _log.exception("%s %s failed inside the emulator", exchange.method, without_secrets(exchange.path))
                if exchange.started:
                    raise ClientGoneError("the response could not be completed") from error
                text = f"The emulator failed: {error!r}. This is a fault of the emulator; please report it.\n"
                await exchange.fail(500, [("content-type", "text/plain")], text.encode())
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


_IDLE = "http1 idle"


async def next_event(
    protocol: h11.Connection, reader: asyncio.StreamReader
) -> h11.Event | type[h11.PAUSED] | type[h11.NEED_DATA]:
    """Return the next event of a peer, reading what it needs.

    Raises:
        h11.RemoteProtocolError: the peer broke the protocol, or ended the connection inside a message.
    """
    while (event := protocol.next_event()) is h11.NEED_DATA:
        try:
            data = await reader.read(_READ)
        except ConnectionError as error:
            raise h11.RemoteProtocolError(f"connection lost: {error}") from error
        protocol.receive_data(data)
    return event


async def _wait_lost(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # how it was lost does not matter
        await writer.wait_closed()


async def _see_off(writer: asyncio.StreamWriter, lost: asyncio.Future[None]) -> None:
    """Wait for the end of a connection that is closed: cut, it would take with it what waits to be written."""
    for _ in range(round(_LINGER / _FAREWELL)):
        # pooled clients do not answer a TLS close before their next request
        await asyncio.wait({lost}, timeout=_FAREWELL)
        if lost.done() or not _unsent(writer.transport):
            return


def _unsent(transport: asyncio.WriteTransport) -> int:
    """Return how many bytes wait to be written, in a TLS connection also in the transport below it."""
    size = transport.get_write_buffer_size()
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)  # there is no public way to it
    return size if below is None else size + _unsent(below)


async def _refuse(
    protocol: h11.Connection, writer: asyncio.StreamWriter, error: h11.RemoteProtocolError | str, status: int = 400
) -> None:
    if protocol.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
        return
    body = f"The request is no valid HTTP/1.1: {error}\n".encode()
    head = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
    if isinstance(error, h11.RemoteProtocolError):
        status = error.error_status_hint
    for event in (h11.Response(status_code=status, headers=head), h11.Data(data=body), h11.EndOfMessage()):
        writer.write(protocol.send(event) or b"")
    await writer.drain()


async def _finish_request(protocol: h11.Connection, reader: asyncio.StreamReader) -> bool:
    """Read what is left of the request; False when the connection cannot take another."""
    try:
        async with asyncio.timeout(_LINGER):
            while protocol.their_state is h11.SEND_BODY and not protocol.they_are_waiting_for_100_continue:
                await next_event(protocol, reader)
    except (TimeoutError, h11.RemoteProtocolError):
        return False
    return protocol.our_state is h11.DONE and protocol.their_state is h11.DONE
