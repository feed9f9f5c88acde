"""What stands at the door: one port for HTTP/2 and HTTP/1.1, and where each request goes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import override
from urllib.parse import urlsplit

from emulator import facts
from emulator.admin import Admin
from emulator.agentcore.service import AgentPlane
from emulator.bedrock.service import Bedrock
from emulator.dataplane import DataPlane
from emulator.exchange import Exchange, answer, answer_error
from emulator.http1.invocation import Invocation
from emulator.http1.invoke import Invoker
from emulator.http2 import Http2Stream
from emulator.page.service import Page
from emulator.trace import without_secrets
from emulator.wire.exceptions import RequestError

__all__ = ["AlpnSwitch", "Router"]

_log = logging.getLogger("emulator.front")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_BIDI = facts.text("wire.path").rpartition("/")[2]
_HINT = (
    b"This operation speaks HTTP/2 over TLS (ALPN h2); your client negotiated HTTP/1.1.\n"
    b"Python: install aws-sdk-sagemaker-runtime-http2[awscrt] and pass transport=AWSCRTHTTPClient().\n"
)


class AlpnSwitch(asyncio.Protocol):
    """The protocol of a fresh TLS connection: gives it to HTTP/2 or HTTP/1.1, as the client negotiated."""

    def __init__(self, http2: Callable[[], asyncio.Protocol], http1: Callable[[], asyncio.Protocol]) -> None:
        self._http2, self._http1 = http2, http1

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # what create_server gives
        tls = transport.get_extra_info("ssl_object")
        protocol = self._http2() if tls is not None and tls.selected_alpn_protocol() == "h2" else self._http1()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class Router:
    """Sends each request to the operation that it asks for.

    ``elsewhere`` serves everything that no data plane knows: the control plane, and what moto stands in for.
    """

    def __init__(
        self,
        data_plane: DataPlane,
        invoker: Invoker,
        bedrock: Bedrock,
        agents: AgentPlane,
        admin: Admin,
        elsewhere: Callable[[Exchange], Awaitable[None]],
    ) -> None:
        self._data_plane = data_plane
        self._invoker = invoker
        self._bedrock = bedrock
        self._agents = agents
        self._page = Page(agents)
        self._admin = admin
        self._elsewhere = elsewhere

    async def http2(self, stream: Http2Stream) -> None:
        """Serve a request that came over HTTP/2.

        Raises:
            ClientGoneError: the client gave up before its answer was complete.
        """
        if _is_bidi(stream.path):
            await self._data_plane.serve(stream)
            return
        work = asyncio.ensure_future(self._serve(stream))
        leaving = asyncio.ensure_future(stream.wait_gone())
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise leaving.result()
            work.result()
        finally:
            for each in (work, leaving):
                each.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)

    async def http1(self, exchange: Exchange) -> None:
        """Serve a request that came over HTTP/1.1."""
        if _is_bidi(exchange.path):
            _log.warning("%s answered with 505: it came over HTTP/1.1", without_secrets(exchange.path))
            await answer(exchange, 505, [("content-type", "text/plain"), ("connection", "close")], _HINT)
        else:
            await self._serve(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        if not exchange.path.startswith("/"):  # '*', 'host:port': of no use to anybody behind this door
            message = f"{exchange.method} {without_secrets(exchange.path)}: the request target is no path."
            await answer_error(exchange, RequestError(400, "ValidationException", message), [])
            return
        if Admin.serves(exchange.path):
            await self._admin.serve(exchange)
            return
        if Page.serves(exchange.method, exchange.path, dict(exchange.headers)):
            await self._page.serve(exchange)
            return
        origin = dict(exchange.headers).get("origin")
        if origin is not None and not _is_local(origin):
            # a page of some site must not start containers here, nor read what is kept
            message = (
                f"A web page of {origin} asks the emulator for {without_secrets(exchange.path)}; only local pages may."
            )
            _log.warning("%s", message)
            await answer_error(exchange, RequestError(403, "AccessDeniedException", message), [])
            return
        operation = Invocation.operation_of(exchange.path)
        if operation is not None:
            await self._invoker.serve(exchange, operation)
        elif self._bedrock.serves(exchange.path):
            await self._bedrock.serve(exchange)
        elif self._agents.serves(exchange.path):
            await self._agents.serve(exchange)
        else:
            await self._elsewhere(exchange)


def _is_local(origin: str) -> bool:
    try:
        return urlsplit(origin).hostname in _LOOPBACK
    except ValueError:
        return False


def _is_bidi(path: str) -> bool:
    return path.partition("?")[0].rpartition("/")[2] == _BIDI
