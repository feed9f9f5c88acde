"""Brings the faults of a plan about on the sockets of one session, and notes them in its wire log."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from emulator import facts
from emulator.endpoint import Variant
from emulator.http2 import ClientGoneError, Http2Stream
from emulator.sidecar import Sidecar, UpgradeRefusedError
from emulator.switches import Switches
from emulator.trace import SessionTrace
from emulator.wire.exceptions import RequestError
from emulator.wire.fault_plan import (
    Corrupted,
    Cut,
    DropClient,
    Dropped,
    FaultAction,
    FaultPlan,
    Held,
    Note,
    Repeat,
    ResetClient,
    SendMore,
    Side,
    StormPing,
    WaitUntil,
)
from emulator.wire.parts import encode_exception, encode_part
from emulator.wire.request import model_error
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

__all__ = ["Injector", "Joints", "dial", "refuse"]

_SESSION_ACTIONS = (SendFrame, SendPart, Fail, EndOutput, Reset, CloseContainer, Disconnect)


def refuse(plan: FaultPlan, trace: SessionTrace, variant: str) -> None:
    """Raise the HTTP error that is wanted instead of a session, if any.

    Raises:
        RequestError: it.
    """
    if plan.faults.throttle:
        _note(trace, Note("client", "throttle: the request is refused"))
        raise RequestError(facts.integer("err.throttle"), "ThrottlingException", "")
    if plan.faults.refuse_upgrade:
        _note(trace, Note("container", "refuse_upgrade: the container is not dialled"))
        raise model_error(variant, "fault on demand: refuse_upgrade; the container was not dialled")


async def dial(variant: Variant, trace: SessionTrace, switches: Switches, plan: FaultPlan | None) -> Sidecar:
    """Dial the container of a variant, as late as is wanted.

    Raises:
        UpgradeRefusedError: the container does not accept the WebSocket, or seems to be too late.
    """
    where = (variant.host, variant.port, trace.container_target, trace.request_id)
    if plan is None:
        return await Sidecar.connect(*where, switches)
    delay, limit = plan.faults.accept_delay or 0.0, switches.accept_timeout
    if delay:
        _note(trace, Note("container", f"accept_delay={delay:g}: the container is dialled that much later"))
        await asyncio.sleep(min(delay, limit))
        if delay >= limit:
            raise UpgradeRefusedError(f"the container did not accept the WebSocket within {limit:g} s (accept_delay)")
    left = replace(switches, accept_timeout=limit - delay)
    sidecar = await Sidecar.connect(*where, left, answer_pings=plan.answers_pings)
    sidecar.accept_seconds += delay
    return sidecar


@dataclass(frozen=True, slots=True)
class Joints:
    """What of a running session the faults take hold of. ``output`` is held while an event is sent to the client."""

    stream: Http2Stream
    sidecar: Sidecar
    trace: SessionTrace
    switches: Switches
    session: Session
    output: asyncio.Lock
    over: asyncio.Event
    perform: Callable[[Sequence[Action]], Awaitable[None]]
    carry_out: Callable[[Action], Awaitable[None]]
    client_gone: Callable[[ClientGoneError], None]


class Injector:
    """The faults of one session at work."""

    def __init__(self, plan: FaultPlan, joints: Joints) -> None:
        self._plan = plan
        self._on = joints

    async def perform(self, actions: Sequence[Action]) -> None:
        """Carry out what the plan makes of these actions."""
        await self._carry_out(self._plan.transform(actions, asyncio.get_running_loop().time()))

    def ping_came(self) -> None:
        """Take note of a Ping of the container."""
        if not self._plan.answers_pings:
            self._note("container", "withhold_pongs: this Ping is not answered")

    def pong_counts(self) -> bool:
        """Say whether a Pong that came counts as a sign of life."""
        if self._plan.counts_pongs:
            return True
        self._note("container", "withhold_pongs: the Pong that came does not count")
        return False

    async def run(self) -> None:
        """Bring about what has its time; runs beside the session."""
        loop = asyncio.get_running_loop()
        await self._carry_out(self._plan.begin(loop.time()))
        while self._plan.due < math.inf:
            await asyncio.sleep(max(self._plan.due - loop.time(), 0))
            if self._on.session.ended:
                return
            await self._carry_out(self._plan.tick(loop.time()))

    async def _carry_out(self, actions: Sequence[Action | FaultAction]) -> None:
        if self._plan.ended:
            self._on.session.abandon()
        try:
            for action in actions:
                if self._on.over.is_set():
                    return
                if isinstance(action, _SESSION_ACTIONS):
                    await self._on.carry_out(action)
                else:
                    await self._bring_about(action)
        except ClientGoneError as gone:
            self._on.client_gone(gone)

    async def _bring_about(self, action: FaultAction) -> None:
        match action:
            case Note(side, text):
                self._note(side, text)
            case WaitUntil(at):
                await self._wait_until(at)
            case SendMore(frame):
                self._on.trace.add_frame("out", frame, " (fault)")
                await self._on.sidecar.send(frame)
            case Held(part):
                self._on.trace.add_part("in", part)
            case Dropped(frame):
                self._on.trace.add_frame("in", frame, " (fault: dropped)")
            case Repeat() | Corrupted():
                await self._send_event(action)
            case StormPing(number):
                self._storm(number)
            case Cut():
                text = f"The connection reached its limit of {self._on.switches.max_duration:g} s."
                await self._on.perform(self._on.session.limit_exceeded(text))
            case ResetClient():
                await self._reset_client()
            case DropClient():
                self._on.stream.drop_connection()

    async def _send_event(self, action: Repeat | Corrupted) -> None:
        sent = action.action if isinstance(action, Corrupted) else action
        if isinstance(sent, Fail):
            raw = encode_exception(sent.kind, sent.message, sent.error_code)
            self._on.trace.add("client", "out", "exception", f"{sent.kind} {sent.error_code or ''} {sent.message}")
        else:
            raw = encode_part(sent.part, self._on.switches.response_event_headers)
            if isinstance(sent, SendPart):
                self._on.trace.add_frame("in", sent.frame)
            self._on.trace.add_part("out", sent.part)
        if isinstance(action, Corrupted):
            raw = raw[:-4] + (int.from_bytes(raw[-4:]) ^ action.mask).to_bytes(4)
        async with self._on.output:
            await self._on.stream.send(raw)

    def _storm(self, number: int) -> None:
        # one that could not be written yet would only fill the memory
        if self._on.sidecar.writable:
            self._on.trace.add("container", "out", "ping", f"fault: ping_storm {number}")
            self._on.sidecar.ping(b"storm %d" % number)

    async def _reset_client(self) -> None:
        for action in [*self._on.session.client_gone(), Reset()]:
            await self._on.carry_out(action)

    async def _wait_until(self, at: float) -> None:
        delay = at - asyncio.get_running_loop().time()
        if delay > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._on.over.wait()

    def _note(self, side: Side, text: str) -> None:
        _note(self._on.trace, Note(side, text))


def _note(trace: SessionTrace, note: Note) -> None:
    trace.add(note.side, "out", "note", f"fault: {note.text}")
