"""One turn of a caller under load: what was asked for and how the answer came. Lines of JSON between two processes."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["LONGEST_S", "Asked", "Heard"]

LONGEST_S = 300.0
"""A turn that is not over by then has failed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``text`` spoken on the session ``caller``, which is opened where it is not open; None ends the session."""

    number: int
    caller: str
    text: str | None

    def line(self) -> bytes:
        """Return it as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return what :meth:`line` wrote."""
        return cls(**_object(line))


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to the turn ``number``. Milliseconds from the request; ``opened_ms`` where a session was opened.

    ``total_ms`` is for how long was waited where there is an ``error``.
    """

    number: int
    first_audio_ms: float | None = None
    total_ms: float = 0.0
    audio_ms: float = 0.0
    size: int = 0
    opened_ms: float | None = None
    error: str | None = None

    @property
    def real_time_factor(self) -> float | None:
        """Seconds of waiting for a second of speech: below 1 the voice never stops; None without audio."""
        return self.total_ms / self.audio_ms if self.audio_ms else None

    def line(self) -> bytes:
        """Return it as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return what :meth:`line` wrote."""
        return cls(**_object(line))


def _object(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line)
    return value
