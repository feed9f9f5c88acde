"""The wire log: what passed through one session or invocation, hop by hop, readable as it stands.

No header of a request gets into it, and what of a query is a credential is taken out: a log can be shown to anybody.
"""

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from emulator.wire.frames import PREVIEWED, Frame, preview
from emulator.wire.parts import PayloadPart

__all__ = ["Direction", "Hop", "SessionTrace", "TraceEntry", "Traces", "without_secrets"]

Hop = Literal["client", "container"]
Direction = Literal["in", "out"]
Kind = Literal["http", "part", "frame", "ping", "pong", "close", "eof", "exception", "end", "meter", "note"]

_ARROWS: dict[tuple[Hop, Direction], str] = {
    ("client", "in"): "client    → SageMaker",
    ("client", "out"): "client    ← SageMaker",
    ("container", "out"): "SageMaker → container",
    ("container", "in"): "SageMaker ← container",
}
_MAX_SESSIONS = 1000
_MAX_ENTRIES = 2000
_MAX_ALL_ENTRIES = 100_000
_MAX_TEXT = 2000
_MAX_DIMENSIONS = 100
_FIRST = 32
_SECRET = re.compile(
    r"(?i)([?&](?:x-amz-signature|x-amz-security-token|x-amz-credential|awsaccesskeyid|signature)=)[^&\s]+"
)
_log = logging.getLogger("emulator.trace")


def without_secrets(path: str) -> str:
    """Return a raw path without the values of the query members that sign a request."""
    return _SECRET.sub(r"\1…", path)


@dataclass(slots=True)
class Shown:
    """The payload of a frame or part in words, which are found when somebody reads them: few entries are ever read."""

    before: str
    head: bytes
    size: int
    after: str

    @classmethod
    def of(cls, before: str, data: bytes, after: str) -> "Shown":
        """Keep of ``data`` what is shown of it."""
        return cls(before, data[:PREVIEWED], len(data), after)

    def __str__(self) -> str:
        return f"{self.before}{self.size} B {preview(self.head, self.size)}{self.after}"


@dataclass(slots=True)  # not frozen, nor is Shown: four are made for each round trip, and that takes twice as long
class TraceEntry:
    """One event. ``at`` is in seconds since the session began; ``direction`` is seen from the emulator."""

    at: float
    hop: Hop
    direction: Direction
    kind: Kind
    told: "str | Shown"
    data: bytes | None = None
    """The payload of a frame. Only a listener gets it: kept for all sessions it would fill the memory."""
    data_type: str | None = None
    """Of a frame: ``TEXT``, ``BINARY`` or ``CONTINUATION``, with `` FIN=0`` where more follows; of a part its
    DataType."""
    state: str | None = None
    """CompletionState of a part."""
    size: int | None = None
    """Bytes of a frame or part."""
    first: bytes | None = None
    """The first bytes of a frame or part."""

    @property
    def text(self) -> str:
        """What happened, in words."""
        return str(self.told)

    def __str__(self) -> str:
        return f"{self.at:8.3f}  {_ARROWS[self.hop, self.direction]}  {self.kind:<9} {self.text}".rstrip()


@dataclass(repr=False)
class SessionTrace:
    """The log of one session. Only the first entries are kept, so that a long session does not fill the memory."""

    request_id: str
    endpoint: str
    clock: Callable[[], float]
    operation: str = "InvokeEndpointWithBidirectionalStream"
    entries: list[TraceEntry] = field(default_factory=list)
    dropped: int = 0
    container_close: tuple[int, str] | None = None
    """Code and reason of the container's Close frame, None while none came."""
    container_eof_without_close: bool = False
    variant: str = ""
    container_target: str = ""
    """Path and query of the WebSocket in the container."""
    metered: dict[str, float] = field(default_factory=dict)
    """Units that the container has reported on its metering socket, by dimension."""
    listener: Callable[[TraceEntry], None] | None = None
    muted: bool = False
    """Whether nothing is kept and nobody told: what the log costs is measured against it."""
    kept: Callable[[], None] | None = None
    """Called for every entry that is kept."""
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __repr__(self) -> str:
        close = f", closed by the container with {self.container_close[0]}" if self.container_close else ""
        return f"<SessionTrace {self.request_id} of {self.endpoint!r}: {len(self.entries)} entries{close}; see lines()>"

    def add(self, hop: Hop, direction: Direction, kind: Kind, text: object = "") -> None:
        """Append an event that happens now."""
        if self._unheard():
            return
        self._append(TraceEntry(self._now(), hop, direction, kind, _short(str(text))))

    def add_frame(self, direction: Direction, frame: Frame, note: str = "") -> None:
        """Append a frame to or from the container, happening now."""
        if self._unheard():
            return
        kind = frame.opcode.name + ("" if frame.fin else " FIN=0")
        first, size = frame.data[:_FIRST], len(frame.data)
        shown = Shown.of(f"{kind} ", frame.data, note)
        entry = TraceEntry(self._now(), "container", direction, "frame", shown, None, kind, None, size, first)
        self._append(entry, frame.data)

    def add_part(self, direction: Direction, part: PayloadPart, note: str = "") -> None:
        """Append a payload part from (``in``) or to the client, happening now."""
        if self._unheard():
            return
        kind = str(part.data_type) if part.data_type else None
        state = str(part.completion_state) if part.completion_state else None
        head = f"{kind or 'no DataType'}{f', {state}' if state else ''}"
        # what goes out is shown in full by the frame that it came as
        told = Shown.of(f"{head}, ", part.data, note) if direction == "in" else f"{head}{note}"
        first, size = part.data[:_FIRST], len(part.data)
        self._append(TraceEntry(self._now(), "client", direction, "part", told, None, kind, state, size, first))

    def count(self, dimension: str, units: float) -> None:
        """Count units that the container has reported. The dimensions are bounded, as the entries are."""
        if dimension in self.metered or len(self.metered) < _MAX_DIMENSIONS:
            self.metered[dimension] = self.metered.get(dimension, 0) + units

    def _unheard(self) -> bool:
        """Whether an entry would be neither kept nor told: then none is made, and it is only counted."""
        if self.muted:
            return True
        if self.listener is not None or len(self.entries) < _MAX_ENTRIES:
            return False
        self.dropped += 1
        return True

    def _now(self) -> float:
        return self.clock() - self.began

    def _append(self, entry: TraceEntry, data: bytes | None = None) -> None:
        if len(self.entries) < _MAX_ENTRIES:
            self.entries.append(entry)
            if self.kept is not None:
                self.kept()
        else:
            self.dropped += 1
        if self.listener is not None:
            try:
                self.listener(entry if data is None else replace(entry, data=data))
            except Exception:  # noqa: BLE001  # whoever listens must not be able to break a session
                self.listener = None
                _log.exception("session %s: its listener failed and is told nothing more", self.request_id)

    def drop(self) -> int:
        """Forget the entries; returns how many there were."""
        count = len(self.entries)
        self.dropped += count
        self.entries.clear()
        return count

    def lines(self) -> list[str]:
        """Return the log ready to print."""
        more = [f"… {self.dropped} more entries were not kept"] if self.dropped else []
        return [*map(str, self.entries), *more]


class Traces:
    """The logs of the last sessions and invocations, oldest first; of the oldest only the head is kept.

    ``listener`` is told every entry of all of them. With 0 ``entries`` and no listener there are no logs.
    """

    def __init__(
        self,
        listener: Callable[[SessionTrace, TraceEntry], None] | None = None,
        *,
        sessions: int = _MAX_SESSIONS,
        entries: int = _MAX_ALL_ENTRIES,
    ) -> None:
        self._all: deque[SessionTrace] = deque()
        self._listener = listener
        self._sessions, self._entries = sessions, entries
        self._kept = 0

    def begin(self, request_id: str, clock: Callable[[], float], **members: Any) -> SessionTrace:
        """Return the log of a new session."""
        trace = SessionTrace(request_id, "", clock, **members)
        listener = self._listener
        if listener is not None:
            trace.listener = lambda entry: listener(trace, entry)
        trace.kept = self._count
        trace.muted = not self._entries and listener is None
        self._all.append(trace)
        if len(self._all) > self._sessions:
            oldest = self._all.popleft()
            oldest.kept = None  # it may still be open
            self._kept -= oldest.drop()
        return trace

    def _count(self) -> None:
        self._kept += 1
        if self._kept > self._entries:
            full = next(trace for trace in self._all if trace.entries)
            self._kept -= full.drop()

    def __iter__(self) -> Iterator[SessionTrace]:
        return iter(list(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: int) -> SessionTrace:
        return self._all[index]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
