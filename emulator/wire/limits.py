"""How long a session may last, and how long it may be idle (facts ``limit.duration``, ``unk.idle``)."""

import math

__all__ = ["Limits"]


class Limits:
    """Deadlines of one session. Times in seconds of any monotonic clock that the caller reads; 0 means no limit."""

    def __init__(self, max_duration: float, idle_timeout: float, now: float) -> None:
        self._max_duration = max_duration
        self._idle_timeout = idle_timeout
        self._end = now + max_duration if max_duration else math.inf
        self._last = now

    @property
    def due(self) -> float:
        """When to call :meth:`exceeded` again."""
        return min(self._end, self._idle_end)

    def activity(self, now: float) -> None:
        """Take note of a part in either direction."""
        self._last = now

    def exceeded(self, now: float) -> str | None:
        """Say which limit has passed, None while none has."""
        if now >= self._end:
            return f"The connection reached its limit of {self._max_duration:g} s."
        if now >= self._idle_end:
            return f"The session was idle for {self._idle_timeout:g} s."
        return None

    @property
    def _idle_end(self) -> float:
        return self._last + self._idle_timeout if self._idle_timeout else math.inf
