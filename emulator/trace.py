"""The wire log: what passed through one session, hop by hop, readable as it stands."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from emulator.wire.frames import Frame

__all__ = ["Direction", "Hop", "SessionTrace", "TraceEntry"]

Hop = Literal["client", "container"]
Direction = Literal["in", "out"]
Kind = Literal["http", "part", "frame", "ping", "pong", "close", "eof", "exception", "end", "note"]

_ARROWS: dict[tuple[Hop, Direction], str] = {
    ("client", "in"): "client    → SageMaker",
    ("client", "out"): "client    ← SageMaker",
    ("container", "out"): "SageMaker → container",
    ("container", "in"): "SageMaker ← container",
}
_MAX_ENTRIES = 2000
_log = logging.getLogger("emulator.trace")


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One event. ``at`` is in seconds since the session began; ``direction`` is seen from the emulator."""

    at: float
    hop: Hop
    direction: Direction
    kind: Kind
    text: str
    data: bytes | None = None
    """The payload of a part or frame. Only a listener gets it: kept for all sessions it would fill the memory."""
    data_type: str | None = None
    """Of a payload: ``TEXT``, ``BINARY`` or ``CONTINUATION``, with `` FIN=0`` where more follows."""

    def __str__(self) -> str:
        return f"{self.at:8.3f}  {_ARROWS[self.hop, self.direction]}  {self.kind:<9} {self.text}".rstrip()


@dataclass
class SessionTrace:
    """The log of one session. Only the first entries are kept, so that a long session does not fill the memory."""

    request_id: str
    endpoint: str
    clock: Callable[[], float]
    entries: list[TraceEntry] = field(default_factory=list)
    dropped: int = 0
    container_close: tuple[int, str] | None = None
    """Code and reason of the container's Close frame, None while none came."""
    container_eof_without_close: bool = False
    variant: str = ""
    container_target: str = ""
    """Path and query of the WebSocket in the container."""
    listener: Callable[[TraceEntry], None] | None = None
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def add(self, hop: Hop, direction: Direction, kind: Kind, text: object = "") -> None:
        """Append an event that happens now."""
        self._append(TraceEntry(self.clock() - self.began, hop, direction, kind, str(text)))

    def add_frame(self, direction: Direction, frame: Frame, note: str = "") -> None:
        """Append a frame to or from the container, happening now."""
        self._append(
            TraceEntry(self.clock() - self.began, "container", direction, "frame", f"{frame}{note}"),
            frame,
        )

    def _append(self, entry: TraceEntry, frame: Frame | None = None) -> None:
        if len(self.entries) < _MAX_ENTRIES:
            self.entries.append(entry)
        else:
            self.dropped += 1
        if self.listener is not None:
            if frame is not None:
                kind = frame.opcode.name + ("" if frame.fin else " FIN=0")
                entry = replace(entry, data=frame.data, data_type=kind)
            try:
                self.listener(entry)
            except Exception:  # noqa: BLE001  # whoever listens must not be able to break a session
                self.listener = None
                _log.exception("session %s: its listener failed and is told nothing more", self.request_id)

    def lines(self) -> list[str]:
        """Return the log ready to print."""
        more = [f"… {self.dropped} more entries were not kept"] if self.dropped else []
        return [*map(str, self.entries), *more]
