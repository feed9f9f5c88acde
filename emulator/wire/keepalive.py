"""When to send a Ping, and when to give a container up (facts ``ping.interval``, ``ping.misses``)."""

from enum import Enum, auto

__all__ = ["Keepalive", "Tick"]


class Tick(Enum):
    """What is due."""

    NOTHING = auto()
    PING = auto()
    CUT = auto()


class Keepalive:
    """Counts pings without a Pong. Times in seconds, of any monotonic clock that the caller reads."""

    def __init__(self, interval: float, misses: int, now: float) -> None:
        self._interval = interval
        self._misses = misses
        self.due = now + interval
        self.unanswered = 0

    def tick(self, now: float) -> Tick:
        """Say what is due at ``now``; call again at :attr:`due`.

        The connection is cut when the next Ping would be due and the last ``misses`` ones had no answer.
        """
        if now < self.due:
            return Tick.NOTHING
        if self.unanswered >= self._misses:
            return Tick.CUT
        # from the plan, not from now: a late tick must not stretch the interval
        self.due = max(self.due + self._interval, now)
        self.unanswered += 1
        return Tick.PING

    def pong(self) -> None:
        """Take note of a Pong."""
        self.unanswered = 0
