"""A bar on the terminal while something is measured; nothing where nobody looks."""

import sys
import time
from typing import TextIO

WIDTH = 24


class Progress:
    """Steps done of all there are, with the time that is left at the pace so far."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._begun = time.monotonic()
        self._total = 1
        self._done = 0

    def begin(self, total: int) -> None:
        """Set the number of steps."""
        self._total, self._done, self._begun = max(total, 1), 0, time.monotonic()

    def step(self, what: str) -> None:
        """Count one step, and say what comes next."""
        self.show(what)
        self._done += 1

    def show(self, what: str) -> None:
        """Draw the bar."""
        if not self._shown:
            return
        share = min(self._done / self._total, 1.0)
        bar = "#" * round(share * WIDTH)
        left = (time.monotonic() - self._begun) * (1 / share - 1) if share else None
        ends = "" if left is None else f", {left:.0f} s left"
        line = f"[{bar:.<{WIDTH}}] {self._done}/{self._total}{ends}  {what}"
        self._stream.write(f"\r\x1b[K{line[:110]}")
        self._stream.flush()

    def end(self) -> None:
        """Take the bar away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
