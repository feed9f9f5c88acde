"""Values of command line options, for pytest and for all commands alike."""

import argparse
import math
import re

__all__ = ["add_dry_run", "add_start_timeout", "amount", "count", "positive", "seconds", "whole"]


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    value = _finite(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds above 0")
    return value


def positive(text: str) -> float:
    """Return a number above 0."""
    value = _finite(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number above 0")
    return value


def amount(text: str) -> float:
    """Return a number that is 0 or more."""
    value = _finite(text)
    if value is None or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number, 0 or more")
    return value


def count(text: str, most: int | None = None) -> int:
    """Return a whole number above 0, up to ``most``."""
    value = _whole(text)
    if value is None or value < 1 or (most is not None and value > most):
        expected = "a whole number above 0" if most is None else f"a whole number from 1 to {most}"
        raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
    return value


def whole(text: str) -> int:
    """Return a whole number that is 0 or more."""
    value = _whole(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return value


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(text: str) -> int | None:
    # int() takes signs, spaces and underscores; of more digits than these nothing is meant, and Python refuses some
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def add_start_timeout(parser: argparse.ArgumentParser) -> None:
    """Add ``--start-timeout`` to a command that starts a target."""
    parser.add_argument("--start-timeout", metavar="SECONDS", type=seconds, help="until /ping has to answer 200")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add ``--dry-run`` to a command that takes long."""
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
