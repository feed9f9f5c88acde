"""How long an answer is waited for, where a container also sends what belongs to none: heartbeats, notices."""

from contract_tests.client import Silence

__all__ = ["Waiting"]

_TIMES = 4


class Waiting:
    """The wait for the next part of an answer. Times are seconds on the session's clock.

    Audio and what the profile knows show that the answer goes on. Another message may do so, too (a transcript that
    grows), or say nothing of it (a heartbeat): it lengthens the wait, but not for ever.
    """

    def __init__(self, now: float) -> None:
        self._last = self._progress = now
        self._others = 0

    def took(self, now: float, *, progress: bool) -> None:
        """Take up that a part has come, and whether it is one of an answer."""
        self._last = now
        self._others = 0 if progress else self._others + 1
        if progress:
            self._progress = now

    def left(self, now: float, patience: float, *, bounded: bool = True) -> float:
        """Return for how long to wait yet: ``patience`` from the last part, and a multiple from the last of an answer.

        Without the second, unbounded, there is no telling what belongs to the answer.
        """
        latest = self._progress + _TIMES * patience if bounded else float("inf")
        return max(0.0, min(self._last + patience, latest) - now)

    def silence(self, now: float, patience: float) -> Silence:
        """Return what the wait has come to."""
        return Silence(now - self._progress, self._others) if self._others else Silence(patience)
