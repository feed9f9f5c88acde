"""Verdicts on their way from the process that judges to the one that reports, which started it."""

import pickle
from typing import cast

from contract_tests.verdict import Verdict

__all__ = ["pack", "unpack"]


def pack(verdict: Verdict) -> bytes:
    """Return the verdict as one of the few types that execnet carries."""
    return pickle.dumps(verdict)


def unpack(packed: bytes) -> Verdict:
    """Return the verdict that :func:`pack` was given."""
    return cast("Verdict", pickle.loads(packed))  # noqa: S301 - from a process of our own
