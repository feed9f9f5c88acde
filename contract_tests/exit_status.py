"""How the command ``contract`` and a contract run of pytest end: see ``docs/ci.md``."""

from enum import IntEnum

__all__ = ["ExitStatus"]


class ExitStatus(IntEnum):
    """The exit status. pytest has the same numbers, and 3 for errors of its own."""

    GOOD = 0
    """Nothing is wrong; all runs said the same."""
    FOUND = 1
    """A check failed, something was found, a verdict differed."""
    INTERRUPTED = 2
    """By Ctrl-C or SIGTERM."""
    NOTHING_TO_JUDGE = 3
    """What was to be judged is not there: no target, no engine, no file."""
    USAGE = 4
    """The command line, the profile or the baseline cannot be understood."""
    NO_CHECKS = 5
    """No check was left to run."""
