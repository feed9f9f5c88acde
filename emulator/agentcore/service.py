"""The AgentCore data plane, served: relays a client's payload to the agent's container and its answer back."""

import asyncio
import contextlib
import json
import logging
import secrets
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from emulator import facts
from emulator.agentcore.limits import AgentLimits
from emulator.agentcore.request import (
    AgentRequest,
    Operation,
    check_size,
    failed,
    not_ready,
    response_headers,
    too_slow,
)
from emulator.agentcore.runtimes import AgentRuntimes
from emulator.agentcore.websocket import Tunnel, bearer_of, check_handshake, check_presigned
from emulator.exchange import Exchange, answer, answer_error, read_body
from emulator.http1 import client
from emulator.http1.client import PeerError, Response
from emulator.http1.server import Http1Exchange
from emulator.http1.signature import check_signature, note_unsigned
from emulator.http2 import ClientGoneError
from emulator.switches import Switches
from emulator.trace import without_secrets
from emulator.wire.exceptions import RequestError

__all__ = ["AgentPlane"]

_log = logging.getLogger("emulator.agentcore")
_HEALTHY = ("Healthy", "HealthyBusy")


@dataclass
class _Session:
    used: float
    running: set[asyncio.Event] = field(default_factory=set)
    """Set to cut an invocation."""


class AgentPlane:
    """Serves ``InvokeAgentRuntime`` and ``StopRuntimeSession``."""

    def __init__(self, runtimes: AgentRuntimes, switches: Switches, limits: AgentLimits | None = None) -> None:
        self.token = secrets.token_urlsafe(24)
        """A bearer token that is accepted in the place of a signature, for clients that cannot sign."""
        self.runtimes = runtimes
        self._switches = switches
        self.limits = limits or AgentLimits()
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._stopping = False

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a raw path is one of its operations."""
        return Operation.of(path) is not None

    def stop(self) -> None:
        """Cut what is running."""
        self._stopping = True
        for session in self._sessions.values():
            _cut(session)

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request, whatever comes."""
        request_id = str(uuid.uuid4())
        head = [("x-amzn-requestid", request_id)]
        try:
            operation = Operation.of(exchange.path)
            assert operation is not None  # noqa: S101  # the router asked serves()
            body = await read_body(exchange, check_size)
            request = AgentRequest.parse(operation, exchange.method, exchange.path, exchange.headers, request_id)
            if operation is Operation.WEBSOCKET:
                await self._websocket(exchange, request, head)
                return
            self._authorize(exchange, body)
            container = self.runtimes.find(request)
            self._forget_idle()
            if operation is Operation.STOP_SESSION:
                self._stop_session(request)
                empty = response_headers(request.session, [("content-type", "application/json")])
                await answer(exchange, 200, [*empty, *head], b"{}")
            else:
                await self._invoke(exchange, request, container, body, head)
        except RequestError as error:
            _log.warning("%s answered with %s", without_secrets(exchange.path), error)
            with contextlib.suppress(ClientGoneError):
                await answer_error(exchange, error, head, "message")

    def _authorize(self, exchange: Exchange, body: bytes) -> None:
        token = bearer_of(exchange.headers)
        if token is None:
            check_signature(exchange, body, facts.text("agent.sigv4"), self._switches)
        else:
            self._check_token(exchange, token)

    def _check_token(self, exchange: Exchange, token: str) -> None:
        if self._switches.signatures == "off" or secrets.compare_digest(token.encode(), self.token.encode()):
            return
        error = RequestError(403, "AccessDeniedException", "The bearer token is not the one of this emulator.")
        if self._switches.signatures == "enforce":
            raise error
        note_unsigned(exchange, error)

    def _forget_idle(self) -> None:
        since = asyncio.get_running_loop().time() - self.limits.idle
        for key in [key for key, session in self._sessions.items() if not session.running and session.used < since]:
            del self._sessions[key]

    def _stop_session(self, request: AgentRequest) -> None:
        session = self._sessions.pop((request.agent, request.session), None)
        if session is None:
            raise RequestError(404, "ResourceNotFoundException", f"Session {request.session} is not running.")
        _cut(session)

    async def _invoke(
        self, exchange: Exchange, request: AgentRequest, container: str, body: bytes, head: list[tuple[str, str]]
    ) -> None:
        relay = _Relay(exchange, request, container, body, head, self._switches.agent_cut, self.limits)
        await self._run(exchange, request, container, relay)

    async def _websocket(self, exchange: Exchange, request: AgentRequest, head: list[tuple[str, str]]) -> None:
        if not isinstance(exchange, Http1Exchange):
            raise RequestError(400, "ValidationException", "A WebSocket needs HTTP/1.1; this request came over HTTP/2.")
        check_handshake(exchange)
        token = bearer_of(exchange.headers)
        if token is not None:
            self._check_token(exchange, token)
        else:
            check_presigned(exchange, self._switches)
        container = self.runtimes.find(request)
        self._forget_idle()
        tunnel = Tunnel(exchange, request, container, self.limits, head)
        await self._run(exchange, request, container, tunnel)

    async def _run(self, exchange: Exchange, request: AgentRequest, container: str, relay: "_Relay | Tunnel") -> None:
        """Carry an invocation to its end, or to the end of its session."""
        if self._stopping:
            raise RequestError(500, "InternalServerException", "The emulator is stopping.")
        if (request.agent, request.session) not in self._sessions:
            await self._check_health(container)
        with self._running(request) as cut:
            work = asyncio.ensure_future(relay.run())
            cutting = asyncio.ensure_future(cut.wait())
            try:
                await asyncio.wait({work, cutting}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
                    return
                if not self._stopping:  # that is no surprise
                    _log.warning("%s: session %s was stopped while its agent answered", exchange.path, request.session)
                if not relay.started:
                    raise RequestError(500, "InternalServerException", "The session was stopped.")
                exchange.reset()
            finally:
                for each in (work, cutting):
                    each.cancel()
                await asyncio.gather(work, cutting, return_exceptions=True)

    @contextlib.contextmanager
    def _running(self, request: AgentRequest) -> Iterator[asyncio.Event]:
        loop = asyncio.get_running_loop()
        session = self._sessions.setdefault((request.agent, request.session), _Session(loop.time()))
        cut = asyncio.Event()
        session.running.add(cut)
        try:
            yield cut
        finally:
            session.running.discard(cut)
            session.used = loop.time()

    async def _check_health(self, container: str) -> None:
        """Ask ``/ping`` before the first request of a session (fact ``agent.ping``)."""
        try:
            async with asyncio.timeout(self.limits.ping), _request(container, "GET", facts.text("agent.ping")) as pong:
                body = await pong.read(64 * 1024)
        except TimeoutError:
            raise not_ready(f"GET /ping of {container} gave no answer within {self.limits.ping:g} s") from None
        except PeerError as error:
            raise not_ready(f"{error}; is the agent running?") from None
        if pong.status != 200:
            raise not_ready(f"GET /ping of {container} answered {pong.status}, expected is 200")
        try:
            status = json.loads(body)["status"]
        except (ValueError, TypeError, LookupError):
            status = None
        if status not in _HEALTHY:
            _log.warning("GET /ping of %s says %.100r; AgentCore wants a JSON status of %s", container, body, _HEALTHY)


class _Relay:
    """One invocation: the payload to the container, its answer to the client as it comes."""

    def __init__(
        self,
        exchange: Exchange,
        request: AgentRequest,
        container: str,
        body: bytes,
        head: list[tuple[str, str]],
        cut: int,
        limits: AgentLimits,
    ) -> None:
        self.started = False
        self._exchange = exchange
        self._request = request
        self._container = container
        self._body = body
        self._head = head
        self._cut = cut
        self._limits = limits

    async def run(self) -> None:
        """Carry the invocation to its end.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        began = asyncio.get_running_loop().time()
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._limits.request):
                    asking = _request(
                        self._container,
                        "POST",
                        facts.text("agent.container-path"),
                        self._request.container_headers,
                        self._body,
                    )
                    response = await stack.enter_async_context(asking)
            except TimeoutError:
                raise too_slow(self._limits.request) from None
            except PeerError as error:
                _log.warning("the agent gave no answer: %s", error)
                raise failed(500) from None
            if response.status >= 400:
                said = await _read_error(response)
                _log.warning("the agent answered with %d: %s", response.status, said)
                raise failed(response.status)
            head = response_headers(self._request.session, response.headers)
            await self._exchange.start(response.status, [*head, *self._head])
            self.started = True
            try:
                async with asyncio.timeout_at(began + self._limits.stream):
                    await self._pass_on(response)
            except (TimeoutError, PeerError) as error:
                why = str(error) or f"it took more than {self._limits.stream:g} s"
                _log.warning("%s: the agent's answer was cut: %s", self._exchange.path, why)
                self._exchange.reset()

    async def _pass_on(self, response: Response) -> None:
        while (data := await response.receive()) is not None:
            step = self._cut or len(data)
            for at in range(0, len(data), step):
                await self._exchange.send(data[at : at + step])
        self._exchange.end()


def _request(
    container: str, method: str, path: str, headers: list[tuple[str, str]] | None = None, body: bytes = b""
) -> contextlib.AbstractAsyncContextManager[Response]:
    parts = urlsplit(container)
    return client.request(parts.hostname or "", parts.port or 0, method, path, headers or [], body)


async def _read_error(response: Response) -> str:
    try:
        return (await response.read(4096)).decode("utf-8", "replace")
    except PeerError as error:
        return str(error)


def _cut(session: _Session) -> None:
    for event in session.running:
        event.set()
