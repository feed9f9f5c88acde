"""One check on an app of the tests, and the bench of a container that can be started again."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from contract_tests.bench import Bench
from contract_tests.check import Check
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge
from contract_tests.verdict import Verdict
from emulator.launch import running, starting
from emulator.target import Target

__all__ = ["judged", "restartable"]


async def judged(check: Check, app: str, profile: str = "kokoro") -> Verdict:
    """Serve the speech container ``MODULE:APP`` and return what the check says of it."""
    with running(Target("app", app), 60, Path.cwd()) as up, bench_for(up.url, load(profile)) as bench:
        return await judge(check, bench)


@contextmanager
def restartable(target: Target) -> Iterator[Bench]:
    """Serve a speech container; its bench has its output, and can start another one like it, which CT18 needs."""
    with (
        running(target, 60, Path.cwd()) as own,
        bench_for(own.url, load("kokoro"), own=own, starter=partial(starting, target)) as bench,
    ):
        yield bench
