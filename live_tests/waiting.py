"""Waiting for what AWS does in its own time: there is no event to wait for, only asking again."""

import time
from collections.abc import Callable

__all__ = ["until"]


def until[T](
    look: Callable[[], T | None],
    limit: float,
    every: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T | None:
    """Call ``look`` until it returns something, every ``every`` seconds; None after ``limit`` seconds."""
    deadline = clock() + limit
    while (found := look()) is None:
        left = deadline - clock()
        if left <= 0:
            return None
        sleep(min(every, left))
    return found
