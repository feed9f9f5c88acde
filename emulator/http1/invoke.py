"""The operations of boto3's ``sagemaker-runtime``, relayed to the container's ``POST /invocations``."""

import asyncio
import contextlib
import logging
import uuid

from emulator import credentials, facts
from emulator.endpoint import Variant
from emulator.exchange import Exchange, answer, answer_error, read_body
from emulator.http1 import client
from emulator.http1.client import PeerError, Response
from emulator.http1.invocation import (
    Invocation,
    Operation,
    check_size,
    container_failed,
    response_headers,
    timed_out,
    unreachable,
)
from emulator.http1.response_stream import PartCutter, encode_part
from emulator.http1.signature import check_signature
from emulator.http2 import ClientGoneError
from emulator.registry import ACCOUNT, Registry
from emulator.switches import Switches
from emulator.trace import SessionTrace, Traces, without_secrets
from emulator.wire.exceptions import RequestError
from emulator.wire.frames import preview
from emulator.wire.parts import PayloadPart, encode_exception
from emulator.wire.request import CONTENT_TYPE

__all__ = ["Invoker"]

_log = logging.getLogger("emulator.invoke")
_MAX_ERROR_BODY = 64 * 1024
_OPERATIONS = {Operation.INVOKE: "InvokeEndpoint", Operation.RESPONSE_STREAM: "InvokeEndpointWithResponseStream"}


class Invoker:
    """Serves ``InvokeEndpoint`` and ``InvokeEndpointWithResponseStream``."""

    def __init__(self, registry: Registry, switches: Switches, traces: Traces | None = None) -> None:
        self._registry = registry
        self._traces = Traces() if traces is None else traces  # an empty one is false
        self._switches = switches
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End what is running: streams with InternalStreamFailure, other invocations with HTTP 503."""
        self._stopping.set()

    async def serve(self, exchange: Exchange, operation: Operation) -> None:
        """Answer one request, whatever comes."""
        trace = self._traces.begin(str(uuid.uuid4()), asyncio.get_running_loop().time, operation=_OPERATIONS[operation])
        request_id = [(self._switches.request_id_header, trace.request_id)]
        trace.add("client", "in", "http", f"{exchange.method} {without_secrets(exchange.path)}")
        try:
            body = await self._read(exchange)
            request = Invocation.parse(operation, exchange.method, exchange.path, exchange.headers)
            check_signature(exchange, body, facts.text("req.sigv4"), self._switches)
            trace.endpoint = request.endpoint
            variant = self._route(request)
            trace.variant = variant.name
            with self._registry.lease(variant.container):
                await _Relay(exchange, request, variant, body, request_id, self._switches, trace).run(self._stopping)
        except ClientGoneError as gone:
            trace.add("client", "in", "eof", gone)
            raise
        except RequestError as error:
            _log.warning("%s answered with %s", without_secrets(exchange.path), error)
            trace.add("client", "out", "http", f"{error.status} {error.type}: {error.message}")
            with contextlib.suppress(ClientGoneError):
                await answer_error(exchange, error, request_id)

    async def _read(self, exchange: Exchange) -> bytes:
        body = await read_body(exchange, lambda size: check_size(size, self._switches.invoke_body_max))
        if len(body) > facts.integer("inv.body-max-model"):
            _log.warning(
                "%s: a body of %d bytes; the service model allows 6 MiB, 25 MB is only reported [inv.body-max-model]",
                without_secrets(exchange.path),
                len(body),
            )
        return body

    def _route(self, request: Invocation) -> Variant:
        status = 404 if self._switches.missing_endpoint == "404" else facts.integer("err.no-endpoint")
        return self._registry.route(request.endpoint, request.variant, status)


class _Relay:
    """One invocation: the request to the container, its answer to the client."""

    def __init__(
        self,
        exchange: Exchange,
        request: Invocation,
        variant: Variant,
        body: bytes,
        head: list[tuple[str, str]],
        switches: Switches,
        trace: SessionTrace,
    ) -> None:
        self._trace = trace
        self._exchange = exchange
        self._request = request
        self._variant = variant
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
        self._trace.add("client", "out", "exception", f"InternalStreamFailure {why}")
        await self._exchange.send(encode_exception("InternalStreamFailure", why))
        self._exchange.end()

    async def _work(self) -> None:
        began = asyncio.get_running_loop().time()
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._switches.model_timeout):
                    response = await stack.enter_async_context(self._ask())
                    self._trace.add("container", "in", "http", response.status)
                    if not 200 <= response.status < 300:
                        raise await self._failed(response)
                    if self._request.operation is Operation.INVOKE:
                        most = self._switches.invoke_body_max
                        first = await response.read(most + 1)
                        if len(first) > most:
                            raise unreachable(
                                f"its response has more than {most} bytes (switch invoke-body-max); "
                                "longer ones are for InvokeEndpointWithResponseStream"
                            )
                    else:
                        first = await response.receive() or b""
            except TimeoutError:
                raise timed_out() from None
            except PeerError as error:
                raise unreachable(str(error)) from None
            head = response_headers(self._request.operation, self._variant.name, response.headers)
            if self._request.operation is Operation.INVOKE:
                self._trace.add("client", "out", "http", f"200, {len(first)} B {preview(first)}")
                await answer(self._exchange, 200, [*head, *self._head], first)
            else:
                self._trace.add("client", "out", "http", "200")
                await self._exchange.start(200, [("content-type", CONTENT_TYPE), *head, *self._head])
                self._streaming = True
                if self._switches.response_stream_max:
                    self._limit = began + self._switches.response_stream_max
                await self._stream(response, first)

    def _ask(self) -> contextlib.AbstractAsyncContextManager[Response]:
        target = self._trace.container_target = facts.text("inv.container-path")
        self._trace.add("container", "out", "http", f"POST {target}, {len(self._body)} B {preview(self._body)}")
        return client.request(
            self._variant.host, self._variant.port, "POST", target, self._request.container_headers, self._body
        )

    async def _failed(self, response: Response) -> RequestError:
        body = await response.read(_MAX_ERROR_BODY)
        scope = credentials.REGION, ACCOUNT
        return container_failed(response.status, body, self._request.endpoint, scope)

    async def _stream(self, response: Response, first: bytes) -> None:
        cutter = PartCutter()
        data: bytes | None = first
        failure = None
        try:
            while data is not None:
                for part in cutter.cut(data):
                    self._trace.add_part("out", PayloadPart(part))
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
            _log.warning("%s: ModelStreamError %s: %s", without_secrets(self._exchange.path), failure[1], failure[0])
            self._trace.add("client", "out", "exception", f"ModelStreamError {failure[1]} {failure[0]}")
            await self._exchange.send(encode_exception("ModelStreamError", *failure))
        self._trace.add("client", "out", "end", "the response is complete")
        self._exchange.end()
