"""A slow line: when a part may pass, by bandwidth and jitter (faults on demand)."""

from random import Random

__all__ = ["Pacer"]


class Pacer:
    """One direction of one session. Times in seconds of any monotonic clock that the caller reads."""

    def __init__(self, bandwidth: float | None, jitter: float | None, random: Random) -> None:
        self._bandwidth = bandwidth
        self._jitter = jitter
        self._random = random
        self._free = 0.0
        self._last = 0.0

    def ready(self, size: int, now: float) -> float:
        """Return when ``size`` bytes that are there at ``now`` are through; never before those of an earlier call."""
        self._free = max(self._free, now)
        if self._bandwidth is not None:
            self._free += size / self._bandwidth
        late = self._random.uniform(0, self._jitter) if self._jitter is not None else 0.0
        self._last = max(self._free + late, self._last)
        return self._last
