"""The faults of one session, without I/O: changes the actions of the state machine, and says what is due when.

Whatever is changed is told in a :class:`Note`, so that nobody takes it for the doing of the container or the client.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from emulator.wire.fault_frames import FrameFaults
from emulator.wire.faults import Faults
from emulator.wire.frames import Frame
from emulator.wire.pacer import Pacer
from emulator.wire.parts import DataType, PayloadPart
from emulator.wire.session import INTERNAL_STREAM_FAILURE, Action, CloseContainer, EndOutput, Fail, SendFrame, SendPart

__all__ = [
    "Corrupted",
    "Cut",
    "DropClient",
    "Dropped",
    "FaultAction",
    "FaultPlan",
    "Held",
    "Note",
    "Repeat",
    "ResetClient",
    "SendMore",
    "Side",
    "StormPing",
    "WaitUntil",
]

Side = Literal["client", "container"]
_SIDES: tuple[Side, ...] = ("client", "container")


@dataclass(frozen=True, slots=True)
class Note:
    """Write a fault into the wire log, where it acts."""

    side: Side
    text: str


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Go on at ``at``, in seconds of the caller's clock."""

    at: float


@dataclass(frozen=True, slots=True)
class SendMore:
    """Send a frame to the container that no part of the client stands for."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Held:
    """A part of the client is kept back."""

    part: PayloadPart


@dataclass(frozen=True, slots=True)
class Dropped:
    """A frame of the container goes no further."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Repeat:
    """Send a part to the client once more."""

    part: PayloadPart


@dataclass(frozen=True, slots=True)
class Corrupted:
    """Send an event whose CRC-32 is xored with ``mask``."""

    action: SendPart | Repeat | Fail
    mask: int


@dataclass(frozen=True, slots=True)
class ResetClient:
    """RST_STREAM to the client."""


@dataclass(frozen=True, slots=True)
class DropClient:
    """TCP reset of the client's connection, with all its streams."""


@dataclass(frozen=True, slots=True)
class Cut:
    """End the session as at the end of its longest duration."""


@dataclass(frozen=True, slots=True)
class StormPing:
    """Send a Ping."""

    number: int


FaultAction = (
    Note | WaitUntil | SendMore | Held | Dropped | Repeat | Corrupted | ResetClient | DropClient | Cut | StormPing
)


class FaultPlan:
    """What goes wrong in one session. The same faults and ``seed`` do the same to the same session."""

    def __init__(self, faults: Faults, seed: str = "") -> None:
        self.faults = faults
        self.ended = False
        """Whether a fault has ended the session; the state machine has to be told."""
        self._frames = FrameFaults(faults, _random(seed, "frames"))
        self._crc = _random(seed, "crc")
        self._pace: dict[Side, Pacer] = {
            side: Pacer(faults.bandwidth, faults.jitter, _random(seed, side))
            for side in _SIDES
            if (faults.bandwidth or faults.jitter) and faults.direction in ("both", f"to-{side}")
        }
        self._altered = 0
        self._notes: list[Note] = []
        self._taken = 0
        self._answers = 0
        self._events = 0
        self._pings = 0
        self._cut_at = self._storm_at = math.inf

    def begin(self, now: float) -> list[Action | FaultAction]:
        """Return what goes wrong before anything was sent; the clocks of the session run from here."""
        faults = self.faults
        notes = [Note(side, f"{_pace_text(faults)}: every part to the {side} is slowed down") for side in self._pace]
        if faults.cut_after is not None:
            self._cut_at = now + faults.cut_after
        if faults.ping_storm is not None:
            self._storm_at = now + faults.ping_storm
            notes.append(Note("container", f"ping_storm={faults.ping_storm:g}: that often a Ping, from now on"))
        return [*notes, *self._after_part(), *self._after_answer()]

    @property
    def answers_pings(self) -> bool:
        """Whether the container's Pings are answered."""
        return self.faults.withhold_pongs not in ("sent", "both")

    @property
    def counts_pongs(self) -> bool:
        """Whether the container's Pongs count as signs of life."""
        return self.faults.withhold_pongs not in ("received", "both")

    @property
    def due(self) -> float:
        """When to call :meth:`tick` again; infinite where nothing waits."""
        return min(self._cut_at, self._storm_at)

    def tick(self, now: float) -> list[FaultAction]:
        """Return what is due at ``now``."""
        due: list[FaultAction] = []
        if now >= self._cut_at:
            self._cut_at = math.inf
            due += [Note("client", f"cut_after={self.faults.cut_after:g}: the longest duration is over now"), Cut()]
        if now >= self._storm_at and self.faults.ping_storm is not None:
            self._storm_at = max(self._storm_at + self.faults.ping_storm, now)
            self._pings += 1
            due.append(StormPing(self._pings))
        return due

    def alter(self, part: PayloadPart) -> PayloadPart:
        """Return a part of the client with the DataType that is forced on it, before it is mapped to a frame."""
        self._altered += 1
        wanted = self.faults.data_type
        if wanted is None:
            return part
        forced = None if wanted == "omit" else DataType(wanted)
        if forced is not part.data_type:
            was, now = part.data_type or "no DataType", forced or "no DataType"
            self._notes.append(Note("client", f"data_type={wanted}: part {self._altered} came with {was}, now {now}"))
        return replace(part, data_type=forced)

    def transform(self, actions: Sequence[Action], now: float) -> list[Action | FaultAction]:
        """Return the actions to carry out in the place of these."""
        out: list[Action | FaultAction] = [*self._notes]
        self._notes.clear()
        for action in actions:
            if self.ended:
                break
            match action:
                case SendFrame():
                    out += self._to_container(action, now)
                case SendPart():
                    out += self._to_client(action, now)
                case Fail():
                    out += self._event(action)
                case CloseContainer():
                    out += [SendMore(frame) for frame in self._frames.rest()]
                    out.append(action)
                case _:
                    out.append(action)
        return out

    # --- client to container ---

    def _to_container(self, action: SendFrame, now: float) -> list[Action | FaultAction]:
        self._taken += 1
        changed, notes = self._frames.change(action.frame)
        out: list[Action | FaultAction] = [Note("container", note) for note in notes]
        if not changed:
            return [Held(action.part), *out, *self._after_part()]
        out += self._paced("container", sum(len(frame.data) for frame in changed), now)
        # the part stands in the log once, beside the frame that holds its bytes: an extra one comes before it
        main = next((at for at, frame in enumerate(changed) if frame.data), 0)
        out += [
            (action if frame == action.frame else SendFrame(frame, action.part)) if at == main else SendMore(frame)
            for at, frame in enumerate(changed)
        ]
        return [*out, *self._after_part()]

    def _after_part(self) -> list[Action | FaultAction]:
        close = self.faults.close
        if close is None or self._taken != close.after or self.ended:
            return []
        self.ended = True
        text = (
            f"The service closed the container's WebSocket with {close.code} {close.reason!r} (fault on demand: close)."
        )
        return [
            Note("container", f"close={close}: this Close is no answer to anything"),
            *(SendMore(frame) for frame in self._frames.rest()),
            CloseContainer(close.code, close.reason),
            *self._event(Fail(INTERNAL_STREAM_FAILURE, text)),
            EndOutput(),
        ]

    # --- container to client ---

    def _to_client(self, action: SendPart, now: float) -> list[Action | FaultAction]:
        faults, size = self.faults, len(action.part.data)
        self._answers += 1
        number = self._answers
        if number == faults.drop_part:
            note = Note("client", f"drop_part={number}: this part ({size} B) is not passed on")
            return [Dropped(action.frame), note, *self._after_answer()]
        out: list[Action | FaultAction] = [*self._paced("client", size, now), *self._event(action)]
        if number == faults.duplicate_part:
            out.append(Note("client", f"duplicate_part={number}: the last part ({size} B) is sent once more"))
            out += [*self._paced("client", size, now), *self._event(Repeat(action.part))]
        return [*out, *self._after_answer()]

    def _event(self, action: SendPart | Repeat | Fail) -> Iterable[Action | FaultAction]:
        self._events += 1
        if self._events != self.faults.corrupt_crc:
            return [action]
        note = Note("client", f"corrupt_crc={self._events}: the next event's CRC-32 is wrong")
        return [note, Corrupted(action, self._crc.randrange(1, 2**32))]

    def _after_answer(self) -> list[Action | FaultAction]:
        out: list[Action | FaultAction] = []
        if self._answers == self.faults.reset_after:
            out += [Note("client", f"reset_after={self._answers}: RST_STREAM"), ResetClient()]
        if self._answers == self.faults.drop_client:
            out += [Note("client", f"drop_client={self._answers}: TCP reset of the whole connection"), DropClient()]
        return out

    def _paced(self, side: Side, size: int, now: float) -> list[WaitUntil]:
        pacer = self._pace.get(side)
        return [] if pacer is None else [WaitUntil(pacer.ready(size, now))]


def _random(seed: str, use: str) -> Random:
    # one for each use: what happens in one direction must not change what comes out in the other
    return Random(f"{seed}/{use}")  # noqa: S311  # repeatable, not secret


def _pace_text(faults: Faults) -> str:
    shown = (("bandwidth", faults.bandwidth), ("jitter", faults.jitter))
    return ",".join(f"{name}={value:g}" for name, value in shown if value is not None)
