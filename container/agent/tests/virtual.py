"""An event loop whose time passes only while everything waits for it, and then at once."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

__all__ = ["run"]


class _Clock(selectors.DefaultSelector):
    """Does not wait until the next timer is due, but moves the time there."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits, and for no time"
            self.now += max(0.0, timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run[T](work: Coroutine[Any, Any, T]) -> T:
    """Run `work`, which may use no thread and no socket. Time is that of its event loop, and begins at 0."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
