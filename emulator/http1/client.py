"""An HTTP/1.1 client for one request: towards a container, and towards the bookkeeping of the control plane."""

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator

import h11

from emulator.http1.headers import encoded
from emulator.http1.server import next_event

__all__ = ["PeerError", "Response", "request"]


class PeerError(Exception):
    """Raised when the peer cannot be reached, breaks off, or does not speak HTTP, or cannot be sent the request."""


class Response:
    """A response whose head has arrived. ``headers`` have lower-case names."""

    def __init__(self, protocol: h11.Connection, reader: asyncio.StreamReader, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in head.headers]
        self._protocol = protocol
        self._reader = reader
        self._ended = False

    async def receive(self) -> bytes | None:
        """Return the next bytes of the body, None at its end.

        All chunks that came with one read are joined.

        Raises:
            PeerError: the body broke off.
        """
        collected = bytearray()
        while not self._ended:
            try:
                event = self._protocol.next_event()
                if event is h11.NEED_DATA:
                    if collected:
                        break
                    event = await next_event(self._protocol, self._reader)
            except h11.RemoteProtocolError as error:
                if collected:  # first what did arrive; the error comes again with the next call
                    break
                raise PeerError(f"the connection broke off inside the response body ({error})") from error
            if isinstance(event, h11.Data):
                collected += event.data
            else:
                self._ended = True
        return bytes(collected) or None

    async def read(self, limit: int | None = None) -> bytes:
        """Return the whole body, or its first ``limit`` bytes: of a longer one nothing more is read.

        Raises:
            PeerError: the body broke off.
        """
        body = bytearray()
        while (limit is None or len(body) < limit) and (data := await self.receive()) is not None:
            body += data
        return bytes(body[:limit])


@contextlib.asynccontextmanager
async def request(
    host: str,
    port: int,
    method: str,
    target: str,
    headers: list[tuple[str, str]],
    body: bytes | AsyncIterable[bytes] = b"",
) -> AsyncIterator[Response]:
    """Send one request on a connection of its own; gives the response as soon as its head is there.

    The caller sets ``content-length`` for a body that is no ``bytes``.

    Raises:
        PeerError: the peer cannot be reached, breaks off, or does not speak HTTP; or the request cannot be written as
            HTTP/1.1.
    """
    protocol = h11.Connection(h11.CLIENT)
    names = {name for name, _ in headers}
    head = [*headers, *([] if "host" in names else [("host", f"{host}:{port}")])]
    if isinstance(body, bytes) and "content-length" not in names and (body or method == "POST"):
        head.append(("content-length", str(len(body))))
    with _writing():
        ask = h11.Request(method=method, target=target.encode("latin-1"), headers=encoded(head))
        start = protocol.send(ask) or b""
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        raise PeerError(f"nothing accepts connections at {host}:{port} ({error.strerror or error})") from error
    try:
        writer.write(start)
        async with _running(_send_body(protocol, writer, body)) as sending, _running(_head(protocol, reader)) as answer:
            # the answer may come, and the peer close, before all of the body is sent
            await asyncio.wait({sending, answer}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                sending.result()
            yield await answer
    finally:
        writer.transport.abort()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    # where a server relays, h11's own error would look like a fault of the server's response
    try:
        yield
    except (h11.LocalProtocolError, UnicodeEncodeError) as error:
        raise PeerError(f"the request cannot be written as HTTP/1.1 ({error})") from error


@contextlib.asynccontextmanager
async def _running[T](work: Coroutine[None, None, T]) -> AsyncIterator[asyncio.Task[T]]:
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _send_body(
    protocol: h11.Connection, writer: asyncio.StreamWriter, body: bytes | AsyncIterable[bytes]
) -> None:
    # a peer may answer and close before it has read everything: its answer counts, not the failed write
    with contextlib.suppress(ConnectionError):
        if isinstance(body, bytes):
            _write(protocol, writer, h11.Data(data=body))
        else:
            async for data in body:
                _write(protocol, writer, h11.Data(data=data))
                await writer.drain()
        _write(protocol, writer, h11.EndOfMessage())
        await writer.drain()


def _write(protocol: h11.Connection, writer: asyncio.StreamWriter, event: h11.Event) -> None:
    with _writing():
        data = protocol.send(event)
    writer.write(data or b"")


async def _head(protocol: h11.Connection, reader: asyncio.StreamReader) -> Response:
    try:
        event = await next_event(protocol, reader)
        while isinstance(event, h11.InformationalResponse):
            event = await next_event(protocol, reader)
    except h11.RemoteProtocolError as error:
        raise PeerError(f"the connection ended without a valid answer ({error})") from error
    assert isinstance(event, h11.Response)  # noqa: S101  # anything else is an error to h11
    return Response(protocol, reader, event)
