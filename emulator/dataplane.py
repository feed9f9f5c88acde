"""The data plane: ``InvokeEndpointWithBidirectionalStream``, from request head to the end of the stream."""

import asyncio
import contextlib
import datetime
import itertools
import json
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from emulator import credentials, facts
from emulator.endpoint import Variant
from emulator.fault_settings import FaultSettings
from emulator.http2 import ClientGoneError, Http2Stream
from emulator.injector import Injector, Joints, dial, refuse
from emulator.registry import Registry
from emulator.sidecar import Closed, Lost, Ping, Pong, Sidecar, UpgradeRefusedError
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry, Traces, without_secrets
from emulator.wire.eventstream import Message
from emulator.wire.exceptions import RequestError
from emulator.wire.fault_plan import FaultPlan
from emulator.wire.frames import Frame
from emulator.wire.keepalive import Keepalive, Tick
from emulator.wire.label import label_error
from emulator.wire.limits import Limits
from emulator.wire.parts import encode_exception, encode_part
from emulator.wire.request import CONTENT_TYPE, InvocationRequest, model_error
from emulator.wire.session import (
    Action,
    CloseContainer,
    Disconnect,
    EndOutput,
    Fail,
    Reset,
    SendFrame,
    SendPart,
    Session,
)
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
    ) -> None:
        self.endpoints = endpoints
        self._faults = faults or FaultSettings()
        self.traces = Traces(listener)
        self._switches = switches
        self._running: set[_Run] = set()
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
            variant, sidecar, plan = await self._open(stream, trace, leases)
        except ClientGoneError:
            return
        except RequestError as error:
            _log.warning("%s answered with %s", without_secrets(stream.path), error)
            trace.add("client", "out", "http", f"{error.status} {error.type}: {error.message}")
            with contextlib.suppress(ClientGoneError):
                await _answer_error(stream, error, request_id)
            return
        head = [("content-type", CONTENT_TYPE), *request_id, ("x-amzn-invoked-production-variant", variant.name)]
        run = _Run(stream, sidecar, trace, self._switches, verifier, plan)
        self._running.add(run)
        try:
            await run.run(head)
        finally:
            self._running.discard(run)
            sidecar.abort()

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
                stream.method, stream.path, stream.authority, stream.headers, credentials.SECRETS, now
            )
        except RequestError as error:
            if self._switches.signatures == "enforce":
                raise
            trace.add("client", "in", "note", f"AWS would refuse the request: {error}")
            return None
        return verifier.verify if self._switches.signatures == "enforce" else _noting(verifier, trace)

    async def _open(
        self, stream: Http2Stream, trace: SessionTrace, leases: contextlib.ExitStack
    ) -> tuple[Variant, Sidecar, FaultPlan | None]:
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
            sidecar = await self._unless_stopped(dial(variant, trace, self._switches, plan))
        except UpgradeRefusedError as error:
            trace.add("container", "in", "http", error)
            detail = str(error) if self._switches.model_error_detail == "local-text" else None
            raise model_error(variant.name, detail) from None
        trace.add("container", "in", "http", f"101 after {sidecar.accept_seconds * 1000:.0f} ms")
        limit = facts.seconds("ctr.accept-250ms")
        if sidecar.accept_seconds > limit:
            trace.add("container", "in", "note", f"slower than the documented {limit * 1000:.0f} ms [ctr.accept-250ms]")
        return variant, sidecar, plan

    async def _unless_stopped[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Return what ``work`` returns, or give it up when the emulator stops: its client must get an answer."""
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise RequestError(503, "ServiceUnavailableError", "The emulator was stopped before the session began.")
        finally:
            for each in (working, stopping):
                each.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    async def _refuse_unlabelled(self, stream: Http2Stream, variant: Variant) -> None:
        if self._switches.missing_label == "hang":
            await self._unless_stopped(_drain(stream))
        raise label_error(self._switches.missing_label, variant.name)


async def _drain(stream: Http2Stream) -> None:
    while await stream.receive() is not None:
        pass


class _Run:
    """One session at work: feeds the state machine from both sides and carries its actions out."""

    def __init__(
        self,
        stream: Http2Stream,
        sidecar: Sidecar,
        trace: SessionTrace,
        switches: Switches,
        verify: Callable[[Message], None] | None,
        plan: FaultPlan | None,
    ) -> None:
        self._stream = stream
        self._sidecar = sidecar
        self.trace = self._trace = trace
        self._switches = switches
        self._session = Session(switches, verify, plan.alter if plan is not None else None)
        self._ping_ids = itertools.count(1)
        now = asyncio.get_running_loop().time()
        self._keepalive = Keepalive(switches.ping_interval, switches.ping_misses, now)
        self._limits = Limits(switches.max_duration, switches.idle_timeout, now)
        self._over = asyncio.Event()
        # parts leave from two tasks; one part takes several DATA frames, which must not be mixed with another's
        self._output = asyncio.Lock()
        self._injector = None if plan is None else Injector(plan, self._joints())

    async def run(self, head: list[tuple[str, str]]) -> None:
        """Answer with ``head`` and carry the session to its end, whoever ends it."""
        self._trace.add("client", "out", "http", "200")
        try:
            await self._stream.start(200, head)
        except ClientGoneError as gone:
            self._client_gone(gone)
        # first of all, so that a fault at the very beginning comes before any part
        faults = self._injector.sides if self._injector is not None else ()
        sides = (*faults, self._from_client, self._from_container, self._timers)
        tasks = {asyncio.create_task(side()) for side in sides}
        over = asyncio.create_task(self._over.wait())
        try:
            pending = {*tasks, over}
            while not self._over.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done & tasks:
                    if (error := task.exception()) is not None:
                        await self._crashed(error)
            await self._finish_container()
        finally:
            for task in (*tasks, over):
                task.cancel()
            await asyncio.gather(*tasks, over, return_exceptions=True)

    async def stop(self, why: str) -> None:
        """End the session from the emulator's side."""
        await self._perform(self._session.service_failed(why))

    @property
    def ended(self) -> bool:
        """Whether the session is over, though its connections may still be closing."""
        return self._session.ended

    async def cut(self, why: str) -> None:
        """End the session as at the end of its longest duration."""
        await self._perform(self._session.limit_exceeded(why))

    def _joints(self) -> Joints:
        return Joints(
            stream=self._stream,
            sidecar=self._sidecar,
            trace=self._trace,
            switches=self._switches,
            session=self._session,
            output=self._output,
            over=self._over,
            perform=self._perform,
            carry_out=self._carry_out,
            client_gone=self._client_gone,
        )

    def _client_gone(self, gone: ClientGoneError) -> None:
        self._trace.add("client", "in", "eof", gone)
        for action in self._session.client_gone():
            self._part_with_container(action)
        self._over.set()

    async def _crashed(self, error: BaseException) -> None:
        _log.error("session %s failed inside the emulator", self._trace.request_id, exc_info=error)
        await self.stop(f"The emulator failed: {error!r}. This is a fault of the emulator; please report it.")
        self._over.set()

    async def _finish_container(self) -> None:
        """See the closing handshake through; the container's part of it belongs into the trace."""
        if not await self._sidecar.wait_closed():
            timeout = self._switches.close_timeout
            self._trace.add("container", "in", "note", f"TCP connection not ended by the container in {timeout:g} s")

    async def _from_client(self) -> None:
        try:
            while (data := await self._stream.receive()) is not None:
                self._look_ahead()
                await self._perform(self._session.client_data(data))
        except ClientGoneError as gone:
            self._client_gone(gone)
        else:
            self._look_ahead()
            await self._perform(self._session.client_end())
            if self._session.input_ended and self._switches.client_end == "close":
                await asyncio.sleep(self._switches.client_end_grace)
                self._look_ahead()
                await self._perform(self._session.grace_over())

    def _look_ahead(self) -> None:
        """Tell the session of an end of the container that still waits behind its frames."""
        match self._sidecar.end:
            case Closed(code, reason):
                self._session.container_end_seen(code, reason)
            case Lost(_, what):
                self._session.container_end_seen(None, what)
            case None:
                pass

    async def _from_container(self) -> None:
        while True:
            event = await self._sidecar.receive()
            match event:
                case Frame():
                    if self._session.ended:
                        self._trace.add_frame("in", event, " (dropped, the session is over)")
                    await self._perform(self._session.container_frame(event))
                case Ping():
                    self._trace.add("container", "in", "ping", event.payload.hex())
                    if self._injector is not None:
                        self._injector.ping_came()
                case Pong():
                    if self._injector is None or self._injector.pong_counts():
                        self._keepalive.pong()
                    self._trace.add("container", "in", "pong", event.payload.decode("latin-1"))
                case Closed():
                    self._trace.container_close = (event.code, event.reason)
                    code = "no code" if event.code == 1005 else event.code
                    self._trace.add("container", "in", "close", f"{code} {event.reason!r}")
                    await self._perform(self._session.container_closed(event.code, event.reason))
                    return
                case Lost():
                    self._trace.container_eof_without_close = event.code == 1006
                    self._trace.add("container", "in", "eof", f"without a Close frame: {event.what}")
                    await self._perform(self._session.container_lost(event.what))
                    return

    async def _timers(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._session.ended:
            await asyncio.sleep(max(min(self._keepalive.due, self._limits.due) - loop.time(), 0))
            if (message := self._limits.exceeded(loop.time())) is not None:
                await self._perform(self._session.limit_exceeded(message))
                return
            match self._keepalive.tick(loop.time()):
                case Tick.PING:
                    number = str(next(self._ping_ids))
                    self._trace.add("container", "out", "ping", number)
                    self._sidecar.ping(number.encode() if self._switches.ping_payload == "counter" else b"")
                case Tick.CUT:
                    await self._perform(self._session.container_silent(self._switches.ping_misses))
                case Tick.NOTHING:
                    pass

    async def _perform(self, actions: Sequence[Action]) -> None:
        try:
            if self._injector is not None:
                await self._injector.perform(actions)
                return
            for action in actions:
                await self._carry_out(action)
        except ClientGoneError as gone:
            self._client_gone(gone)

    def _part_with_container(self, action: CloseContainer | Disconnect) -> None:
        if isinstance(action, Disconnect):
            self._trace.add("container", "out", "eof", "dropped without a Close frame, as switched")
            self._sidecar.abort()
        else:
            self._trace.add("container", "out", "close", f"{action.code} {action.reason}".rstrip())
            self._sidecar.start_close(action.code, action.reason)

    async def _carry_out(self, action: Action) -> None:
        match action:
            case SendFrame(frame, part):
                self._limits.activity(asyncio.get_running_loop().time())
                self._trace.add_part("in", part)
                self._trace.add_frame("out", frame)
                await self._sidecar.send(frame)
            case SendPart(part, frame):
                self._limits.activity(asyncio.get_running_loop().time())
                self._trace.add_frame("in", frame)
                self._trace.add_part("out", part)
                async with self._output:
                    await self._stream.send(encode_part(part, self._switches.response_event_headers))
            case Fail(kind, message, error_code):
                self._trace.add("client", "out", "exception", f"{kind} {error_code or ''} {message}")
                async with self._output:
                    await self._stream.send(encode_exception(kind, message, error_code))
            case EndOutput():
                async with self._output:
                    self._trace.add("client", "out", "end", "END_STREAM")
                    self._stream.end()
                self._over.set()
            case Reset():
                self._trace.add("client", "out", "end", "RST_STREAM")
                self._stream.reset()
                self._over.set()
            case CloseContainer() | Disconnect():
                self._part_with_container(action)


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
