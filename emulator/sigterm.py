"""SIGTERM, of whoever gives up waiting: what was started must not stay behind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ended_by_sigterm"]


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, in a ``with`` block or in a function that this decorates; main thread only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
