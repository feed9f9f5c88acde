"""One session at work: carries bytes between a client's stream and a container's WebSocket."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence

from emulator.http2 import ClientGoneError, Http2Stream
from emulator.injector import Injector, Joints
from emulator.metering import MeterSocket
from emulator.sidecar import Closed, Lost, Ping, Pong, Sidecar
from emulator.switches import Switches
from emulator.trace import SessionTrace
from emulator.wire.eventstream import Message
from emulator.wire.fault_plan import FaultPlan
from emulator.wire.frames import Frame
from emulator.wire.keepalive import Keepalive, Tick
from emulator.wire.limits import Limits
from emulator.wire.parts import encode_exception, encode_part
from emulator.wire.session import (
    INTERNAL_STREAM_FAILURE,
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
from emulator.wire.utf8 import TextCheck

__all__ = ["Relay"]

_LEAST_PATIENCE = 1.0
_PART_HEADERS = 512
"""More bytes than the headers of a part take."""
_log = logging.getLogger("emulator.dataplane")
_NO_UTF8 = (
    "this TEXT is no UTF-8: WebSocket clients end the connection with 1007; it is passed on as it is, "
    "what SageMaker does is unknown"
)


class Relay:
    """One session at work: feeds the state machine from both sides and carries its actions out."""

    def __init__(
        self,
        stream: Http2Stream,
        sidecar: Sidecar,
        trace: SessionTrace,
        switches: Switches,
        verify: Callable[[Message], None] | None,
        plan: FaultPlan | None,
        meter: MeterSocket | None = None,
    ) -> None:
        self._meter = meter
        self._stream = stream
        self._sidecar = sidecar
        self.trace = self._trace = trace
        self._switches = switches
        self._session = Session(switches, verify, plan.alter if plan is not None else None)
        self._ping_ids = itertools.count(1)
        now = asyncio.get_running_loop().time()
        self._keepalive = Keepalive(switches.ping_interval, switches.ping_misses, now)
        self._limits = Limits(switches.max_duration, switches.idle_timeout, now)
        self._ending = asyncio.Event()
        """Set when the first of the last words is for the client."""
        self._over = asyncio.Event()
        # parts leave from two tasks; one part takes several DATA frames, which must not be mixed with another's
        self._output = asyncio.Lock()
        self._injector = None if plan is None else Injector(plan, self._joints())
        self._text = TextCheck()
        self._left: list[Action] = []
        """What the client's bytes brought about and could not be carried out at once."""
        self._failure: Exception | None = None
        """What went wrong in the callback of a socket: it ends the session, not the connection of all sessions."""

    async def run(self, head: list[tuple[str, str]]) -> None:
        """Answer with ``head`` and carry the session to its end, whoever ends it."""
        self._trace.add("client", "out", "http", "200")
        try:
            await self._stream.start(200, head)
        except ClientGoneError as gone:
            self._client_gone(gone)
        # first of all, so that a fault at the very beginning comes before any part
        faults = () if self._injector is None else (self._injector.run,)
        metering = () if self._meter is None else (self._read_meter,)
        own = (self._from_client, self._from_container, self._timers, self._watch_client, self._see_client_off)
        sides = (*faults, *own, *metering)
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

    async def _watch_client(self) -> None:
        # whoever waits for the container to read, or reads no more since the input has ended, would not see it
        self._client_gone(await self._stream.wait_gone())

    async def _see_client_off(self) -> None:
        """Reset the stream where the client reads nothing of the session's end: no limit would hold otherwise."""
        await self._ending.wait()
        patience = max(self._switches.close_timeout, _LEAST_PATIENCE)
        before = -1
        while before != self._stream.sent:
            before = self._stream.sent
            await asyncio.sleep(patience)
        if not self._over.is_set():
            self._trace.add("client", "out", "note", f"the client has read nothing for {patience:g} s")
            await self._carry_out(Reset())

    def _client_gone(self, gone: ClientGoneError) -> None:
        if self._over.is_set():
            return
        self._trace.add("client", "in", "eof", gone)
        left, self._left = self._left, []
        for action in (*left, *self._session.client_gone()):
            if isinstance(action, CloseContainer | Disconnect):
                self._part_with_container(action)
        self._over.set()

    async def _crashed(self, error: BaseException) -> None:
        _log.error("session %s failed inside the emulator", self._trace.request_id, exc_info=error)
        why = f"The emulator failed: {error!r}. This is a fault of the emulator; please report it."
        try:
            await self.stop(why)
            if not self._over.is_set():  # it failed while it ended the session: its client must not wait for ever
                await self._perform([Fail(INTERNAL_STREAM_FAILURE, why), EndOutput()])
        finally:
            self._over.set()

    async def _read_meter(self) -> None:
        assert self._meter is not None  # noqa: S101  # or this would not run
        how = await self._meter.read()
        self._trace.add("container", "in", "note", how)
        if self._meter.required:
            await self._perform(self._session.metering_lost(how))

    async def _finish_container(self) -> None:
        """See the closing handshakes through; the container's part of them belongs into the trace."""
        if self._meter is not None:
            self._meter.start_close(self._switches.close_code_out)
            if not await self._meter.wait_closed():
                self._trace.add("container", "in", "note", "the metering socket was not ended by the container")
        if not await self._sidecar.wait_closed():
            timeout = self._switches.close_timeout
            self._trace.add("container", "in", "note", f"TCP connection not ended by the container in {timeout:g} s")

    async def _from_client(self) -> None:
        try:
            while (data := await self._stream.receive(self._client_at_once)) is not None:
                self._raise_failure()
                left, self._left = self._left, []
                await self._perform(left)
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
            case Lost() as lost:
                self._session.container_end_seen(None, lost.text)
            case None:
                pass

    def _client_at_once(self, data: bytes) -> bytes | None:
        """Pass the client's bytes on if nothing has to be waited for; return what :meth:`_from_client` has to do."""
        if self._injector is not None or not self._sidecar.writable:
            return data
        try:
            self._look_ahead()
            actions = self._session.client_data(data)
            for done, action in enumerate(actions):
                if not self._carry_out_at_once(action):
                    self._left = actions[done:]
                    return b""
        except Exception as error:  # noqa: BLE001  # raised where the session is carried
            self._failure = error
            return b""
        return None

    def _container_at_once(self, frame: Frame) -> bool:
        """Pass a frame of the container on if nothing has to be waited for; else it is for :meth:`_from_container`."""
        if (
            self._injector is not None
            or self._session.ended
            or self._switches.text_error_frame == "convert"
            or not self._fits(len(frame.data))
        ):
            return False
        try:
            self._check(frame)
            for action in self._session.container_frame(frame):
                self._carry_out_at_once(action)
        except Exception as error:  # noqa: BLE001  # raised where the session is carried
            self._failure = error
            return False
        return True

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _check(self, frame: Frame) -> None:
        if self._text.breaks(frame):
            self._trace.add("container", "in", "note", _NO_UTF8)

    async def _from_container(self) -> None:
        while True:
            event = await self._sidecar.receive(self._container_at_once)
            self._raise_failure()
            match event:
                case Frame():
                    if self._session.ended:
                        self._trace.add_frame("in", event, " (dropped, the session is over)")
                    self._check(event)
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
                    self._note_end(event, (event.code, event.reason))
                    await self._perform(self._session.container_closed(event.code, event.reason))
                    return
                case Lost():
                    self._note_end(event, event.close)
                    await self._perform(self._session.container_lost(event.text))
                    return

    def _note_end(self, event: Closed | Lost, close: tuple[int, str] | None) -> None:
        trouble = f": {event.what}" if isinstance(event, Lost) else ""
        self._trace.container_close = close
        self._trace.container_eof_without_close = close is None
        if close is None:
            self._trace.add("container", "in", "eof", f"without a Close frame{trouble}")
        else:
            code = "no code" if close[0] == 1005 and not trouble else close[0]
            self._trace.add("container", "in", "close", f"{code} {close[1]!r}{trouble}")

    async def _timers(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._session.ended:
            await asyncio.sleep(max(min(self._keepalive.due, self._limits.due) - loop.time(), 0))
            if (message := self._limits.exceeded(loop.time())) is not None:
                await self._perform(self._session.limit_exceeded(message))
                return
            if self._sidecar.unread:
                self._keepalive.pong()  # the client does not read: the container may have answered long ago
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

    def _fits(self, size: int) -> bool:
        """Whether a part with a payload of so many bytes can be sent now."""
        return not self._output.locked() and self._stream.room >= size + _PART_HEADERS

    def _carry_out_at_once(self, action: Action) -> bool:
        """Carry out what carries data, if nothing has to be waited for; return whether it was done.

        It is logged when it is on its way: the other side is at work on it meanwhile.
        """
        if isinstance(action, SendFrame | SendPart):
            self._limits.activity(asyncio.get_running_loop().time())
        match action:
            case SendFrame(frame, part) if self._sidecar.send_now(frame):
                self._trace.add_part("in", part)
                self._trace.add_frame("out", frame)
            case SendPart(part, frame) if self._fits(len(part.data)):
                self._stream.send_now(encode_part(part, self._switches.response_event_headers))
                self._trace.add_frame("in", frame)
                self._trace.add_part("out", part)
            case _:
                return False
        return True

    async def _carry_out(self, action: Action) -> None:
        if self._carry_out_at_once(action):
            return
        match action:
            case SendFrame(frame, part):
                self._trace.add_part("in", part)
                await self._sidecar.send(frame)
                self._trace.add_frame("out", frame)
            case SendPart(part, frame):
                self._trace.add_frame("in", frame)
                async with self._output:
                    await self._stream.send(encode_part(part, self._switches.response_event_headers))
                self._trace.add_part("out", part)
            case Fail(kind, message, error_code):
                self._ending.set()
                self._trace.add("client", "out", "exception", f"{kind} {error_code or ''} {message}")
                async with self._output:
                    await self._stream.send(encode_exception(kind, message, error_code))
            case EndOutput():
                self._ending.set()
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
