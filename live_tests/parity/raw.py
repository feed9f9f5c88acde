"""A stream without the SDK: HTTP/2 and signed events written here, so that what the SDK hides can be seen."""

import asyncio
import datetime
import hashlib
import hmac
import ssl
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from contract_tests.client import Account
from emulator import facts
from emulator.wire.eventstream import Decoder, Header, HeaderType, Message, encode, string_header
from emulator.wire.exceptions import WireError

__all__ = ["SETTINGS", "Head", "RawError", "RawStream", "opened", "speaks_http1"]

_ALGORITHM = "AWS4-HMAC-SHA256"
_EVENTS = "application/vnd.amazon.eventstream"
_HASH = "STREAMING-AWS4-HMAC-SHA256-EVENTS"
_DATE = struct.Struct(">B5sBq")
_TIMEOUT_S = 15.0


class RawError(Exception):
    """Raised when no stream comes about."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a request is opened with; ``early`` is how many seconds ago it claims to be signed."""

    content_type: str = _EVENTS
    early: float = 0.0
    more: Mapping[str, str] = field(default_factory=dict)


class _Signer:
    """SigV4 of one request and of the events behind it."""

    def __init__(self, account: Account, at: datetime.datetime) -> None:
        self._account = account
        self._day, self.date = f"{at:%Y%m%d}", f"{at:%Y%m%dT%H%M%SZ}"
        self._scope = f"{self._day}/{account.region}/{facts.text('req.sigv4')}/aws4_request"
        key = f"AWS4{account.secret_key}".encode()
        for part in self._scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._key = key
        self._prior = ""

    def authorization(self, path: str, headers: Mapping[str, str]) -> str:
        names = sorted(headers)
        request = "\n".join(
            ("POST", path, "", *(f"{name}:{headers[name]}" for name in names), "", ";".join(names), _HASH)
        )
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = "\n".join((_ALGORITHM, self.date, self._scope, digest))
        self._prior = hmac.digest(self._key, text.encode(), "sha256").hex()
        return (
            f"{_ALGORITHM} Credential={self._account.access_key}/{self._scope}, SignedHeaders={';'.join(names)}, "
            f"Signature={self._prior}"
        )

    def wrap(self, payload: bytes, at: datetime.datetime) -> bytes:
        """Return an event with another one, or with nothing, as its signed payload."""
        milliseconds = int(at.timestamp()) * 1000
        date = _DATE.pack(5, b":date", HeaderType.TIMESTAMP, milliseconds)
        text = "\n".join(
            (
                f"{_ALGORITHM}-PAYLOAD",
                f"{at:%Y%m%dT%H%M%SZ}",
                self._scope,
                self._prior,
                hashlib.sha256(date).hexdigest(),
                hashlib.sha256(payload).hexdigest(),
            )
        )
        signature = hmac.digest(self._key, text.encode(), "sha256")
        self._prior = signature.hex()
        return encode(
            {
                ":date": Header(HeaderType.TIMESTAMP, milliseconds),
                ":chunk-signature": Header(HeaderType.BYTES, signature),
            },
            payload,
        )

    def break_chain(self) -> None:
        """Sign the next event as if another one had gone before it."""
        self._prior = "0" * 64


class RawStream:
    """One stream on a connection of its own. Events and the end of the output come from :meth:`next`."""

    def __init__(self, writer: asyncio.StreamWriter, protocol: H2Connection, stream: int, signer: _Signer) -> None:
        self._writer, self._h2, self._stream, self._signer = writer, protocol, stream, signer
        self.headers: dict[str, str] = {}
        """Of the response, with ``:status``; empty where none came."""
        self.settings: dict[int, int] = {}
        """The service's HTTP/2 settings, by code."""
        self._answered = asyncio.Event()
        self._found: asyncio.Queue[Message | str] = asyncio.Queue()
        self._decoder = Decoder()

    async def head(self) -> Mapping[str, str]:
        """Wait for the response's headers."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIMEOUT_S):
                await self._answered.wait()
        return self.headers

    async def next(self, patience: float) -> Message | str:
        """Return the next event, or the end in words: ``END_STREAM``, ``RST_STREAM n``, ``EOF``, ``silence``."""
        try:
            async with asyncio.timeout(patience):
                return await self._found.get()
        except TimeoutError:
            return "silence"

    async def send(self, data: bytes, data_type: str | None, **more: str) -> None:
        """Send one payload part; ``more`` are further headers of the event."""
        headers = {":message-type": "event", ":event-type": "PayloadPart", "DataType": data_type, **more}
        inner = encode({name: string_header(value) for name, value in headers.items() if value is not None}, data)
        await self._write(self._signer.wrap(inner, datetime.datetime.now(datetime.UTC)))

    async def send_unchained(self, data: bytes, data_type: str | None) -> None:
        """Send one payload part whose signature does not cover the one before."""
        self._signer.break_chain()
        await self.send(data, data_type)

    async def end(self, *, frame: bool) -> None:
        """End the input: with the empty signed event alone (``frame``), or with END_STREAM alone."""
        if frame:
            await self._write(self._signer.wrap(b"", datetime.datetime.now(datetime.UTC)))
        else:
            await self._write(b"", end=True)

    async def _write(self, data: bytes, *, end: bool = False) -> None:
        with suppress(ProtocolError, OSError):  # the stream is over: next() says how
            self._h2.send_data(self._stream, data, end_stream=end)
            await self.flush()

    async def flush(self) -> None:
        """Write what the protocol has to say."""
        self._writer.write(self._h2.data_to_send())
        await self._writer.drain()

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read until the connection ends."""
        with suppress(OSError, ProtocolError, WireError):
            while data := await reader.read(65_536):
                for event in self._h2.receive_data(data):
                    self._take(event)
                await self.flush()
        self._answered.set()
        self._found.put_nowait("EOF")

    def _take(self, event: object) -> None:
        match event:
            case RemoteSettingsChanged():
                self.settings |= {int(code): change.new_value for code, change in event.changed_settings.items()}
            case ResponseReceived():
                self.headers = {str(name): str(value) for name, value in event.headers or ()}
                self._answered.set()
            case DataReceived():
                if event.flow_controlled_length:
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id or 0)
                if self.headers.get("content-type", "").startswith(_EVENTS):
                    for message in self._decoder.feed(bytes(event.data or b"")):
                        self._found.put_nowait(message)
            case StreamEnded():
                self._found.put_nowait("END_STREAM")
            case StreamReset():
                self._found.put_nowait(f"RST_STREAM {int(event.error_code or 0)}")
                self._answered.set()
            case _:
                pass


@asynccontextmanager
async def opened(url: str, account: Account, endpoint: str, head: Head | None = None) -> AsyncIterator[RawStream]:
    """Open a stream at the service's address and yield it; ``SSL_CERT_FILE`` names a private authority.

    Raises:
        RawError: there is no connection, or not over HTTP/2.
    """
    head = head or Head()
    reader, writer = await _connected(url, "h2")
    protocol = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
    protocol.initiate_connection()
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=head.early)
    signer = _Signer(account, now)
    path = facts.text("wire.path").replace("{EndpointName}", endpoint)
    signed = {
        "content-type": head.content_type,
        "host": urlsplit(url).netloc,
        "x-amz-content-sha256": _HASH,
        "x-amz-date": signer.date,
        **({} if account.token is None else {"x-amz-security-token": account.token}),
        **head.more,
    }
    authorization = signer.authorization(path, signed)
    fields = [(":method", "POST"), (":scheme", "https"), (":authority", signed.pop("host")), (":path", path)]
    stream = RawStream(writer, protocol, protocol.get_next_available_stream_id(), signer)
    protocol.send_headers(1, [*fields, *signed.items(), ("authorization", authorization)])
    reading = asyncio.create_task(stream.read(reader))
    try:
        await stream.flush()
        yield stream
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        writer.transport.abort()


async def speaks_http1(url: str, endpoint: str) -> str:
    """Ask for a stream over HTTP/1.1; return the first line of the answer, or why there is none."""
    try:
        reader, writer = await _connected(url, "http/1.1")
    except RawError as error:
        return str(error)
    try:
        path = facts.text("wire.path").replace("{EndpointName}", endpoint)
        writer.write(f"POST {path} HTTP/1.1\r\nhost: {urlsplit(url).netloc}\r\ncontent-length: 0\r\n\r\n".encode())
        async with asyncio.timeout(_TIMEOUT_S):
            line = await reader.readline()
        return line.decode("latin-1").strip() or "the connection was closed"
    except (OSError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        writer.transport.abort()


async def _connected(url: str, alpn: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.set_alpn_protocols([alpn])
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=context, server_hostname=parts.hostname
            )
    except (OSError, TimeoutError) as error:
        raise RawError(f"no connection with ALPN {alpn}: {error}") from error
    chosen = writer.get_extra_info("ssl_object").selected_alpn_protocol()
    if alpn == "h2" and chosen != "h2":
        writer.transport.abort()
        raise RawError(f"the service does not take ALPN h2, but {chosen}")
    return reader, writer


SETTINGS = {int(code): code.name for code in SettingCodes}
"""Names of HTTP/2 settings by code."""
