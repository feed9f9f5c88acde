"""A run that pytest-xdist spreads over several processes.

Each worker starts a target of its own, with an emulator of its own in front, so that no check measures the load that
another one makes. A target that runs already is one for all: the checks take turns there.
"""

import fcntl
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emulator.target import Target

__all__ = [
    "auto_workers",
    "can_be_interrupted",
    "give_time_to_end",
    "is_first",
    "is_worker",
    "taking_turns",
]

_MOST = 4
"""Workers of ``-n auto``: the longest checks are not done sooner with more of them, and each has a target."""

_END_S = 60


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process judges for another one that reports."""
    return hasattr(config, "workerinput")


def is_first(config: pytest.Config) -> bool:
    """Tell whether this process speaks for all that wait for their targets."""
    return bool(getattr(config, "workerinput", {}).get("workerid", "gw0") == "gw0")


def give_time_to_end() -> None:
    """Let each worker end its target: pytest-xdist kills a worker that is slow in it, and the target would stay."""
    from xdist.workermanage import NodeManager  # type: ignore[import-untyped]  # noqa: PLC0415  # there, with -n

    NodeManager.EXIT_TIMEOUT = max(NodeManager.EXIT_TIMEOUT, _END_S)


def can_be_interrupted() -> None:
    """Let this worker be interrupted, which ends its target in order; execnet sends it SIGINT for that.

    A shell that starts a command in the background, as scripts do, has it ignore that signal.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def auto_workers(target: Target, cores: int) -> int:
    """Return how many workers ``-n auto`` means for this target on so many cores; 0 for none but this process."""
    heavy = target.kind in {"kokoro", "image"}  # a model takes more than one core
    workers = 0 if target.kind == "url" else min(_MOST, cores // 2 if heavy else cores)
    return workers if workers > 1 else 0


@contextmanager
def taking_turns(config: pytest.Config, target: Target, folder: Path) -> Iterator[None]:
    """Hold a target that all workers share for the time of one check; ``folder`` is the worker's own temporary one."""
    if not is_worker(config) or target.kind != "url":
        yield
        return
    with (folder.parent / "contract-turn.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # let go when the file is closed, also by a worker that is killed
        yield
