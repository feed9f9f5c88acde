"""Values of command line options, for pytest and for all commands alike."""

import argparse

__all__ = ["add_start_timeout", "count", "seconds"]


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds above 0")
    return value


def count(text: str) -> int:
    """Return a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number above 0")
    return int(text)


def add_start_timeout(parser: argparse.ArgumentParser) -> None:
    """Add ``--start-timeout`` to a command that starts a target."""
    parser.add_argument("--start-timeout", metavar="SECONDS", type=seconds, help="until /ping has to answer 200")
