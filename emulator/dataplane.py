"""The data plane: ``InvokeEndpointWithBidirectionalStream``, from request head to the end of the stream."""

import asyncio
import contextlib
import datetime
import json
import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from emulator import credentials, facts
from emulator.endpoint import Variant
from emulator.fault_settings import FaultSettings
from emulator.http2 import ClientGoneError, Http2Stream
from emulator.injector import dial, refuse
from emulator.metering import MeterSocket, open_meter
from emulator.registry import Registry
from emulator.relay import Relay
from emulator.sidecar import Sidecar, UpgradeRefusedError
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry, Traces, without_secrets
from emulator.wire.eventstream import Message
from emulator.wire.exceptions import RequestError
from emulator.wire.fault_plan import FaultPlan
from emulator.wire.label import label_error
from emulator.wire.request import CONTENT_TYPE, InvocationRequest, model_error
from emulator.wire.sigv4 import EventSignatureError, EventVerifier, verify_request

__all__ = ["DataPlane"]

_log = logging.getLogger("emulator.dataplane")
_FAREWELL = 2.0


class DataPlane:
    """Serves the streams of all connections; :meth:`serve` is the handler of an HTTP/2 connection."""

    def __init__(
        self,
        endpoints: Registry,
        switches: Switches,
        listener: Callable[[SessionTrace, TraceEntry], None] | None = None,
        faults: FaultSettings | None = None,
        *,
        keep_traces: bool = True,
    ) -> None:
        self.endpoints = endpoints
        self._faults = faults or FaultSettings()
        self.traces = Traces(listener) if keep_traces else Traces(listener, entries=0)
        self._switches = switches
        self._running: set[Relay] = set()
        self._stopping = asyncio.Event()

    async def serve(self, stream: Http2Stream) -> None:
        """Answer one request, whatever comes."""
        with contextlib.ExitStack() as leases:
            await self._serve(stream, leases)

    async def _serve(self, stream: Http2Stream, leases: contextlib.ExitStack) -> None:
        trace = self.traces.begin(str(uuid.uuid4()), asyncio.get_running_loop().time)
        request_id = [(self._switches.request_id_header, trace.request_id)]
        try:
            verifier = self._verify(stream, trace)
            variant, sidecar, meter, plan = await self._open(stream, trace, leases)
        except ClientGoneError as gone:
            trace.add("client", "in", "eof", gone)
            return
        except RequestError as error:
            level = logging.DEBUG if self._stopping.is_set() else logging.WARNING
            _log.log(level, "%s answered with %s", without_secrets(stream.path), error)
            trace.add("client", "out", "http", f"{error.status} {error.type}: {error.message}")
            with contextlib.suppress(ClientGoneError):
                await _answer_error(stream, error, request_id)
            return
        head = [("content-type", CONTENT_TYPE), *request_id, ("x-amzn-invoked-production-variant", variant.name)]
        run = Relay(stream, sidecar, trace, self._switches, verifier, plan, meter)
        self._running.add(run)
        try:
            await run.run(head)
        finally:
            self._running.discard(run)
            sidecar.abort()
            if meter is not None:
                meter.abort()

    def open_sessions(self) -> list[SessionTrace]:
        """Return the wire logs of the sessions that are open."""
        return [run.trace for run in self._running if not run.ended]

    async def cut(self, request_id: str) -> bool:
        """End a session as at the end of its longest duration; False where none of that id is open."""
        for run in list(self._running):
            if run.trace.request_id == request_id and not run.ended:
                run.trace.add("client", "out", "note", "fault: cut now: the longest duration is over")
                await run.cut("The session was cut on demand, as at the end of its longest duration.")
                return True
        return False

    async def shut_down(self) -> None:
        """End all sessions with an exception event, so that no client takes the end for success."""
        self._stopping.set()
        stops = [run.stop("The emulator was stopped while the session was open.") for run in self._running]
        with contextlib.suppress(TimeoutError):  # a client that does not read cannot be told
            async with asyncio.timeout(_FAREWELL):
                await asyncio.gather(*stops)

    def _verify(self, stream: Http2Stream, trace: SessionTrace) -> Callable[[Message], None] | None:
        trace.add("client", "in", "http", f"{stream.method} {without_secrets(stream.path)}")
        if self._switches.signatures == "off":
            return None
        now = datetime.datetime.now(datetime.UTC)
        try:
            verifier = verify_request(
                stream.method,
                stream.path,
                stream.authority,
                stream.headers,
                credentials.SECRETS,
                now,
                skew=self._switches.clock_skew,
            )
        except RequestError as error:
            if self._switches.signatures == "enforce":
                raise
            trace.add("client", "in", "note", f"AWS would refuse the request: {error}")
            return None
        return verifier.verify if self._switches.signatures == "enforce" else _noting(verifier, trace)

    async def _open(
        self, stream: Http2Stream, trace: SessionTrace, leases: contextlib.ExitStack
    ) -> tuple[Variant, Sidecar, MeterSocket | None, FaultPlan | None]:
        request = InvocationRequest.parse(stream.method, stream.path, stream.headers)
        trace.endpoint = request.endpoint
        status = 404 if self._switches.missing_endpoint == "404" else facts.integer("err.no-endpoint")
        variant = self.endpoints.route(request.endpoint, request.variant, status)
        trace.variant = variant.name
        leases.enter_context(self.endpoints.lease(variant.container))
        plan = self._faults.plan(request.endpoint)
        if plan is not None:
            refuse(plan, trace, variant.name)
        if not variant.bidirectional and self._switches.missing_label != "allow":
            await self._refuse_unlabelled(stream, variant)
        trace.container_target = request.container_target
        trace.add("container", "out", "http", f"GET {request.container_target} (Upgrade: websocket)")
        try:
            sidecar = await self._unless_over(stream, dial(variant, trace, self._switches, plan))
        except UpgradeRefusedError as error:
            trace.add("container", "in", "http", error)
            detail = str(error) if self._switches.model_error_detail == "local-text" else None
            raise model_error(variant.name, detail) from None
        trace.add("container", "in", "http", f"101 after {sidecar.accept_seconds * 1000:.0f} ms")
        limit = facts.seconds("ctr.accept-250ms")
        if sidecar.accept_seconds > limit:
            trace.add("container", "in", "note", f"slower than the documented {limit * 1000:.0f} ms [ctr.accept-250ms]")
        try:
            meter = await self._unless_over(stream, open_meter(sidecar, variant, trace, self._switches))
        except UpgradeRefusedError as error:
            sidecar.abort()
            detail = str(error) if self._switches.model_error_detail == "local-text" else None
            raise model_error(variant.name, detail) from None
        except BaseException:
            sidecar.abort()
            raise
        return variant, sidecar, meter, plan

    async def _unless_over[T](self, stream: Http2Stream, work: Coroutine[Any, Any, T]) -> T:
        """Return what ``work`` returns; give it up when the emulator stops, or when nobody waits for it any longer.

        Raises:
            RequestError: the emulator stops: its client must get an answer.
            ClientGoneError: the client reset the stream or lost its connection.
        """
        working = asyncio.ensure_future(work)
        stopping, leaving = (asyncio.ensure_future(each.wait()) for each in (self._stopping, stream.gone))
        try:
            await asyncio.wait({working, stopping, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            if leaving.done():
                raise ClientGoneError("client gave up before the session began")
            raise RequestError(503, "ServiceUnavailableError", "The emulator was stopped before the session began.")
        finally:
            for each in (working, stopping, leaving):
                each.cancel()
            await asyncio.gather(working, stopping, leaving, return_exceptions=True)

    async def _refuse_unlabelled(self, stream: Http2Stream, variant: Variant) -> None:
        if self._switches.missing_label == "hang":
            await self._unless_over(stream, _drain(stream))
        raise label_error(self._switches.missing_label, variant.name)


async def _drain(stream: Http2Stream) -> None:
    while await stream.receive() is not None:
        pass


def _noting(verifier: EventVerifier, trace: SessionTrace) -> Callable[[Message], None]:
    """Return a check that notes the first event signature that does not fit; the chain cannot be resumed after it."""
    broken = False

    def verify(message: Message) -> None:
        nonlocal broken
        if broken:
            return
        try:
            verifier.verify(message)
        except EventSignatureError as error:
            broken = True
            trace.add("client", "in", "note", f"AWS may refuse the event: {error}")

    return verify


async def _answer_error(stream: Http2Stream, error: RequestError, headers: list[tuple[str, str]]) -> None:
    members = {"Message": error.message, **error.members} if error.message else {"message": None}
    body = json.dumps(members, separators=(",", ":")).encode()
    await stream.fail(
        error.status,
        [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("x-amzn-errortype", error.type),
            *headers,
        ],
        body,
    )
