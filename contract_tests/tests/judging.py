"""One check on an app of the tests."""

from pathlib import Path

from contract_tests.check import Check
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge
from contract_tests.verdict import Verdict
from emulator.launch import running
from emulator.target import Target

__all__ = ["judged"]


async def judged(check: Check, app: str, profile: str = "kokoro") -> Verdict:
    """Serve the speech container ``MODULE:APP`` and return what the check says of it."""
    with running(Target("app", app), 60, Path.cwd()) as up, bench_for(up.url, load(profile)) as bench:
        return await judge(check, bench)
