"""Signals that end the process in order, with exit code 0."""

import signal
from types import FrameType


def ends_at(*signals: signal.Signals) -> None:
    """End with exit code 0 at each of `signals`, whatever the main thread is at."""
    for number in signals:
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise SystemExit(0)
