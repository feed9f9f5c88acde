"""AgentCore's WebSocket: a client's ``/runtimes/{arn}/ws`` is the container's ``/ws``; frames pass as they are."""

import asyncio
import base64
import binascii
import contextlib
import datetime
import hashlib
import logging
import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlencode, urlsplit

import h11

from emulator import credentials, facts
from emulator.agentcore.frames import FrameMeter, FrameTooLargeError, close_frame
from emulator.agentcore.limits import AgentLimits
from emulator.agentcore.request import AgentRequest, failed, too_slow
from emulator.http1.headers import encoded
from emulator.http1.server import Http1Exchange, next_event
from emulator.http1.signature import note_unsigned
from emulator.switches import Switches
from emulator.wire.exceptions import RequestError
from emulator.wire.sigv4 import verify_request

__all__ = ["Tunnel", "bearer_of", "check_handshake", "check_presigned"]

_log = logging.getLogger("emulator.agentcore")
_READ = 64 * 1024
_LONGEST_LIFE = 604_800  # of any URL that SigV4 presigns
_BEARER = facts.text("agent.ws-bearer")
# the upgrade is made anew; extensions would hide the frames' sizes, and the subprotocols hold the client's token
_NOT_PASSED = {"sec-websocket-extensions", "sec-websocket-protocol"}


def check_handshake(exchange: Http1Exchange) -> None:
    """Check that a request asks for a WebSocket.

    Raises:
        RequestError: it does not.
    """
    fields = dict(exchange.headers)
    if fields.get("upgrade", "").lower() != "websocket" or "sec-websocket-key" not in fields:
        raise RequestError(
            400, "ValidationException", f"{exchange.path}: this operation is a WebSocket; expected is an upgrade to it."
        )


def bearer_of(headers: list[tuple[str, str]]) -> str | None:
    """Return the bearer token of a handshake, from its header or, as browsers send it, from its subprotocols."""
    fields = dict(headers)
    scheme, _, token = fields.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token
    for each in fields.get("sec-websocket-protocol", "").split(","):
        name, _, encoded = each.strip().partition(".")
        if name == _BEARER and encoded:
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError):
                return ""
    return None


def check_presigned(exchange: Http1Exchange, switches: Switches) -> None:
    """Check the signature of a handshake: in its headers, or in the query of a presigned URL (fact ``agent.ws-sign``).

    Raises:
        RequestError: it is not signed with the emulator's credentials, or for too long ago, and the switch
            ``signatures`` is ``enforce``.
    """
    if switches.signatures == "off":
        return
    try:
        _check_presigned(exchange, switches.clock_skew)
    except RequestError as error:
        if switches.signatures == "enforce":
            raise
        note_unsigned(exchange, error)


def _check_presigned(exchange: Http1Exchange, skew: float) -> None:
    path, headers = exchange.path, list(exchange.headers)
    bare, _, query = path.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if "X-Amz-Signature" in given:
        signed = given.get("X-Amz-SignedHeaders", "")
        authorization = (
            f"{given.get('X-Amz-Algorithm', '')} Credential={given.get('X-Amz-Credential', '')}, "
            f"SignedHeaders={signed}, Signature={given['X-Amz-Signature']}"
        )
        rest = urlencode([(name, value) for name, value in pairs if name != "X-Amz-Signature"])
        path = f"{bare}?{rest}"
        headers += [("authorization", authorization), ("x-amz-date", given.get("X-Amz-Date", ""))]
        if "X-Amz-Expires" in given:
            skew = _lifetime(given["X-Amz-Expires"])
    if "x-amz-content-sha256" not in dict(headers):
        headers.append(("x-amz-content-sha256", hashlib.sha256(b"").hexdigest()))
    now, service = datetime.datetime.now(datetime.UTC), facts.text("agent.sigv4")
    without_port = urlsplit(f"//{exchange.authority}").hostname or ""
    try:
        verify_request("GET", path, exchange.authority, headers, credentials.SECRETS, now, service, skew)
    except RequestError:
        # the AgentCore SDK signs the host without its port, which on AWS is the same
        verify_request("GET", path, without_port, headers, credentials.SECRETS, now, service, skew)


def _lifetime(value: str) -> float:
    """Return for how many seconds a presigned URL is valid."""
    if re.fullmatch(r"[0-9]{1,6}", value) and 1 <= int(value) <= _LONGEST_LIFE:
        return int(value)
    raise RequestError(
        facts.integer("err.403"),
        "AccessDeniedException",
        f"X-Amz-Expires of the presigned URL is {value!r}, expected is 1 to {_LONGEST_LIFE} (seconds).",
    )


class Tunnel:
    """One WebSocket, from the handshake to its end."""

    def __init__(
        self,
        exchange: Http1Exchange,
        request: AgentRequest,
        container: str,
        limits: AgentLimits,
        head: list[tuple[str, str]],
    ) -> None:
        self.started = False
        self._head = head
        self._exchange = exchange
        self._request = request
        self._container = container
        self._limits = limits
        size = facts.integer("agent.ws-frame")
        self._out, self._in = FrameMeter(size), FrameMeter(size)

    async def run(self) -> None:
        """Shake hands on both sides and pass frames until one side ends.

        Raises:
            RequestError: the container did not accept; the HTTP error to answer with.
        """
        async with self._dial() as (accepted, early, reader, writer):
            fields = {name: value for name, value in accepted if name not in _NOT_PASSED}
            if _BEARER in dict(self._exchange.headers).get("sec-websocket-protocol", ""):
                fields["sec-websocket-protocol"] = _BEARER
            first, client_reader, client_writer = await self._exchange.upgrade([*fields.items(), *self._head])
            self.started = True
            inbound = asyncio.ensure_future(_pump(self._in, first, client_reader, writer))
            outbound = asyncio.ensure_future(_pump(self._out, early, reader, client_writer))
            try:
                done, _ = await asyncio.wait(
                    {inbound, outbound}, timeout=self._limits.stream, return_when=asyncio.FIRST_COMPLETED
                )
                for each in done:
                    each.result()
            except FrameTooLargeError as error:
                _log.warning("%s: closed with 1009: %s", self._exchange.path, error)
                if self._out.between_frames:
                    client_writer.write(close_frame(1009, str(error)))
                    await client_writer.drain()
            finally:
                for each in (inbound, outbound):
                    each.cancel()
                await asyncio.gather(inbound, outbound, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _dial(
        self,
    ) -> AsyncIterator[tuple[list[tuple[str, str]], bytes, asyncio.StreamReader, asyncio.StreamWriter]]:
        address = urlsplit(self._container)
        until = asyncio.get_running_loop().time() + self._limits.request
        try:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError as error:
            _log.warning("the agent at %s cannot be reached: %s", self._container, error)
            raise failed(500) from error
        try:
            protocol = h11.Connection(h11.CLIENT)
            target = facts.text("agent.ws-container-path")
            ask = h11.Request(method="GET", target=target, headers=encoded(self._handshake()))
            writer.write((protocol.send(ask) or b"") + (protocol.send(h11.EndOfMessage()) or b""))
            try:
                async with asyncio.timeout_at(until):
                    answer = await next_event(protocol, reader)
            except TimeoutError:
                raise too_slow(self._limits.request) from None
            except h11.RemoteProtocolError as error:
                _log.warning("the agent gave no answer to the upgrade: %s", error)
                raise failed(500) from error
            if not isinstance(answer, h11.InformationalResponse) or answer.status_code != 101:
                status = answer.status_code if isinstance(answer, h11.Response) else 500
                _log.warning("the agent refused the WebSocket with %d", status)
                raise failed(status)
            headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in answer.headers]
            yield headers, protocol.trailing_data[0], reader, writer
        finally:
            writer.transport.abort()

    def _handshake(self) -> list[tuple[str, str]]:
        fields = dict(self._exchange.headers)
        return [
            ("host", urlsplit(self._container).netloc),
            ("upgrade", "websocket"),
            ("connection", "Upgrade"),
            ("sec-websocket-version", fields.get("sec-websocket-version", "13")),
            ("sec-websocket-key", fields["sec-websocket-key"]),
            *self._request.container_headers,
        ]


async def _pump(meter: FrameMeter, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    data = first
    with contextlib.suppress(ConnectionError):
        while True:
            try:
                writer.write(meter.take(data))
            except FrameTooLargeError as error:
                writer.write(error.passed)
                raise
            await writer.drain()
            data = await reader.read(_READ)
            if not data:
                return
