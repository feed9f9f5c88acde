"""The operations of boto3's ``sagemaker-runtime``, relayed to the container's ``POST /invocations``."""

import asyncio
import contextlib
import datetime
import logging
import uuid

from emulator import credentials, facts
from emulator.endpoint import Endpoint
from emulator.exchange import Exchange, answer, answer_error
from emulator.http1 import client
from emulator.http1.client import PeerError, Response
from emulator.http1.invocation import (
    Invocation,
    Operation,
    check_size,
    container_failed,
    response_headers,
    signed_headers,
    timed_out,
    unreachable,
)
from emulator.http1.response_stream import PartCutter, encode_part
from emulator.http2 import ClientGoneError
from emulator.registry import Registry
from emulator.switches import Switches
from emulator.wire.exceptions import RequestError
from emulator.wire.parts import encode_exception
from emulator.wire.request import CONTENT_TYPE, unknown_endpoint
from emulator.wire.sigv4 import verify_request

__all__ = ["Invoker"]

_log = logging.getLogger("emulator.invoke")
_ACCOUNT = "000000000000"
_MAX_ERROR_BODY = 64 * 1024


class Invoker:
    """Serves ``InvokeEndpoint`` and ``InvokeEndpointWithResponseStream``."""

    def __init__(self, registry: Registry, switches: Switches) -> None:
        self._registry = registry
        self._switches = switches
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End what is running: streams with InternalStreamFailure, other invocations with HTTP 503."""
        self._stopping.set()

    async def serve(self, exchange: Exchange, operation: Operation) -> None:
        """Answer one request, whatever comes."""
        request_id = [(self._switches.request_id_header, str(uuid.uuid4()))]
        try:
            body = await self._read(exchange)
            request = Invocation.parse(operation, exchange.method, exchange.path, exchange.headers)
            self._verify(exchange, body)
            endpoint = self._find(request)
            with self._registry.lease(endpoint):
                await _Relay(exchange, request, endpoint, body, request_id, self._switches).run(self._stopping)
        except RequestError as error:
            _log.warning("%s answered with %s", exchange.path, error)
            with contextlib.suppress(ClientGoneError):
                await answer_error(exchange, error, request_id)

    async def _read(self, exchange: Exchange) -> bytes:
        collected = bytearray()
        while (data := await exchange.receive()) is not None:
            collected += data
            check_size(len(collected), self._switches.invoke_body_max)
        if len(collected) > facts.integer("inv.body-max-model"):
            _log.warning(
                "%s: a body of %d bytes; the service model allows 6 MiB, 25 MB is only reported [inv.body-max-model]",
                exchange.path,
                len(collected),
            )
        return bytes(collected)

    def _verify(self, exchange: Exchange, body: bytes) -> None:
        if self._switches.signatures == "off":
            return
        try:
            headers = signed_headers(exchange.headers, body)
            now = datetime.datetime.now(datetime.UTC)
            verify_request(exchange.method, exchange.path, exchange.authority, headers, credentials.SECRETS, now)
        except RequestError as error:
            if self._switches.signatures == "enforce":
                raise
            _log.warning("%s: AWS would refuse the request: %s", exchange.path, error)

    def _find(self, request: Invocation) -> Endpoint:
        endpoint = self._registry.get(request.endpoint)
        if endpoint is None:
            status = 404 if self._switches.missing_endpoint == "404" else facts.integer("err.no-endpoint")
            raise unknown_endpoint(request.endpoint, _ACCOUNT, self._registry, status)
        if request.variant not in (None, endpoint.variant):
            raise RequestError(
                facts.integer("err.no-endpoint"),
                "ValidationError",
                f"Variant {request.variant} not found for endpoint {request.endpoint}. It has {endpoint.variant}.",
            )
        return endpoint


class _Relay:
    """One invocation: the request to the container, its answer to the client."""

    def __init__(
        self,
        exchange: Exchange,
        request: Invocation,
        endpoint: Endpoint,
        body: bytes,
        head: list[tuple[str, str]],
        switches: Switches,
    ) -> None:
        self._exchange = exchange
        self._request = request
        self._endpoint = endpoint
        self._body = body
        self._head = head
        self._switches = switches
        self._streaming = False
        self._limit: float | None = None

    async def run(self, stopping: asyncio.Event) -> None:
        """Carry the invocation to its end.

        Raises:
            RequestError: the HTTP error to answer with.
        """
        work = asyncio.ensure_future(self._work())
        stop = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._stopped(work)
            else:
                work.result()
        finally:
            for each in (work, stop):
                each.cancel()
            await asyncio.gather(work, stop, return_exceptions=True)

    async def _stopped(self, work: asyncio.Future[None]) -> None:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        why = "The emulator was stopped while the invocation was running."
        if not self._streaming:
            raise RequestError(503, "ServiceUnavailable", why)
        await self._exchange.send(encode_exception("InternalStreamFailure", why))
        self._exchange.end()

    async def _work(self) -> None:
        began = asyncio.get_running_loop().time()
        variant = self._endpoint.variant
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._switches.model_timeout):
                    response = await stack.enter_async_context(self._ask())
                    if not 200 <= response.status < 300:
                        raise await self._failed(response)
                    if self._request.operation is Operation.INVOKE:
                        first = await response.read()
                    else:
                        first = await response.receive() or b""
            except TimeoutError:
                raise timed_out() from None
            except PeerError as error:
                raise unreachable(str(error)) from None
            head = response_headers(self._request.operation, variant, response.headers)
            if self._request.operation is Operation.INVOKE:
                await answer(self._exchange, 200, [*head, *self._head], first)
            else:
                await self._exchange.start(200, [("content-type", CONTENT_TYPE), *head, *self._head])
                self._streaming = True
                if self._switches.response_stream_max:
                    self._limit = began + self._switches.response_stream_max
                await self._stream(response, first)

    def _ask(self) -> contextlib.AbstractAsyncContextManager[Response]:
        target = facts.text("inv.container-path")
        return client.request(
            self._endpoint.host, self._endpoint.port, "POST", target, self._request.container_headers, self._body
        )

    async def _failed(self, response: Response) -> RequestError:
        body = await response.read(_MAX_ERROR_BODY)
        scope = credentials.REGION, _ACCOUNT
        return container_failed(response.status, body, self._request.endpoint, scope)

    async def _stream(self, response: Response, first: bytes) -> None:
        cutter = PartCutter()
        data: bytes | None = first
        failure = None
        try:
            while data is not None:
                for part in cutter.cut(data):
                    await self._exchange.send(encode_part(part))
                async with asyncio.timeout_at(self._limit):
                    data = await response.receive()
        except TimeoutError:
            text = facts.text("rs.timeout-text").replace("{name}", facts.text("inv.container-name"))
            failure = text, facts.text("rs.time-exceeded")
        except PeerError as error:
            failure = (
                f"The model {facts.text('inv.container-name')} broke its response off: {error}",
                facts.text("rs.broken"),
            )
        if failure is not None:
            _log.warning("%s: ModelStreamError %s: %s", self._exchange.path, failure[1], failure[0])
            await self._exchange.send(encode_exception("ModelStreamError", *failure))
        self._exchange.end()
