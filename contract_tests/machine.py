"""The machine that the checks run on: how much else it has to do."""

import os

__all__ = ["BUSY", "load"]

BUSY = 2.0
"""Load per core from which on a verdict about time may be the machine's: a container that computes makes about 1."""


def load() -> float:
    """Return how many processes of the last minute want each core, on average; 0 where the system does not tell."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        return 0.0
