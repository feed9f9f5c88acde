"""One bug does not make every check red that comes across it."""

import asyncio
import sys
from pathlib import Path

import pytest

from contract_tests.checks.fragmented_utf8 import FragmentedUtf8
from contract_tests.client import Session
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge
from contract_tests.verdict import Status
from emulator.launch import running
from emulator.target import Target

SLOW_S = 0.03
"""Between two fragments of one byte: together longer than the night clerk waits."""
CLERK = Target("command", f"{sys.executable} -m contract_tests.tests.strangers.clerk {{port}}")


async def test_an_idle_timer_is_no_fault_of_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Session.send

    async def slowly(
        self: Session, data: bytes, data_type: str | None = None, completion_state: str | None = None
    ) -> None:
        if completion_state == "PARTIAL":
            await asyncio.sleep(SLOW_S)
        await send(self, data, data_type, completion_state)

    monkeypatch.setattr(Session, "send", slowly)
    with running(CLERK, 60, Path.cwd()) as clerk, bench_for(clerk.url, load("kokoro")) as bench:
        verdict = await judge(FragmentedUtf8(), bench)
    assert verdict.status is not Status.FAIL, verdict
    assert "see CT7" in verdict.behaviour.observed
