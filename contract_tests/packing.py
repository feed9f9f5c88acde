"""Verdicts on their way from the process that judges to the one that reports: as plain values."""

from dataclasses import asdict
from enum import Enum
from typing import Any

from contract_tests.sound import Sound
from contract_tests.verdict import Finding, Fix, Level, Status, Verdict

__all__ = ["pack", "unpack"]


def pack(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as dicts, tuples, strings, bytes, floats and None, which is all that execnet carries."""
    return asdict(
        verdict,
        dict_factory=lambda pairs: {key: value.value if isinstance(value, Enum) else value for key, value in pairs},
    )


def unpack(values: dict[str, Any]) -> Verdict:
    """Return the verdict that :func:`pack` was given."""
    sound = values["sound"]
    restored = {
        "level": Level(values["level"]),
        "behaviour": _finding(values["behaviour"]),
        "closing": _finding(values["closing"]),
        "sound": None if sound is None else Sound(**sound),
    }
    return Verdict(**values | restored)


def _finding(values: dict[str, Any]) -> Finding:
    fix = values["fix"]
    return Finding(**values | {"status": Status(values["status"]), "fix": None if fix is None else Fix(**fix)})
