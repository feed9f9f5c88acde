"""The events of one turn: numbered, timed by the container's own clock, and framed for a stream.

Every event has `type`, `seq` (from 0, without gaps), `t_ms` (milliseconds since `agent_start`) and `request_id`.
"""

import base64
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

__all__ = ["Timeline", "frame", "sse"]

MAX_MESSAGE = 1_000
"""Characters of an error's message. Escaped they are at most 12 bytes each: AgentCore's frames on /ws hold 32 KB."""
_MAX_CODE = 100


class Timeline:
    """Stamps events. `clock` is in seconds."""

    def __init__(self, request_id: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.request_id = request_id or str(uuid.uuid4())
        self._clock = clock
        self._begun: float | None = None
        self._count = 0

    @property
    def ms(self) -> float:
        """Milliseconds since the first event."""
        return self._since(self._clock())

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Make the next event of the turn."""
        now = self._clock()
        if self._begun is None:
            self._begun = now
        stamped = {"type": kind, "seq": self._count, "t_ms": self._since(now), "request_id": self.request_id, **fields}
        self._count += 1
        return stamped

    def error(self, code: str, message: str) -> dict[str, Any]:
        """Make an `error`. Both texts may be somebody else's, so they are cut to what a frame can hold."""
        return self.event("error", code=_cut(code, _MAX_CODE), message=_cut(message, MAX_MESSAGE))

    def _since(self, now: float) -> float:
        return 0.0 if self._begun is None else round((now - self._begun) * 1000, 1)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def sse(event: dict[str, Any]) -> bytes:
    """Return an event as one frame of text/event-stream; bytes in it become base64, which decodes alone.

    In ASCII: what some readers take for the end of a line (U+2028, U+0085) is escaped, and no character can be cut by a
    transport block. Raises ValueError for a number that JSON does not have.
    """
    return f"data: {_json(event)}\n\n".encode()


def frame(event: dict[str, Any]) -> str | bytes:
    """Return an event as one WebSocket message: audio as it is in a binary one, everything else as JSON in a text."""
    data = event.get("data")
    return data if isinstance(data, bytes) else _json(event)


def _json(event: dict[str, Any]) -> str:
    return json.dumps(event, allow_nan=False, separators=(",", ":"), default=_base64)


def _base64(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} has no place in an event")
    return base64.b64encode(value).decode()
