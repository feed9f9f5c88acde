"""CT11 where the frames cannot be seen, as on AWS: the close code is what the caller is told."""

from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests.checks.explicit_close import ExplicitClose
from contract_tests.good.speech import Session, speech_app
from contract_tests.profile import CloseRule, load
from contract_tests.runner import bench_for, judge
from contract_tests.verdict import Status
from emulator.launch import running
from emulator.target import Target


class ClosesWith4000(Session):
    async def close(self) -> bool:
        await self.ws.close(4000, "bye")
        return False


app = speech_app(ClosesWith4000)
HERE = Target("app", f"{__name__}:app")


@pytest.mark.parametrize("frames", [True, False], ids=["frames are seen", "as on AWS"])
@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (4000, Status.PASS, "Close 4000 to the close message"),
        (1000, Status.FAIL, "Close 4000; the caller gets"),
    ],
)
async def test_a_close_code_of_its_own_is_known_by_what_the_caller_is_told(
    code: int, status: Status, words: str, *, frames: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = load("kokoro")
    assert profile.close is not None
    profile = replace(profile, close=CloseRule(profile.close.message, code))
    with running(HERE, 60, Path.cwd()) as own, bench_for(own.url, profile) as bench:
        if not frames:
            monkeypatch.setattr(bench.reach, "capabilities", frozenset())
            monkeypatch.setattr(bench.reach, "trace", lambda _: None)
        verdict = await judge(ExplicitClose(), bench)
    assert verdict.status is status, verdict
    assert words in verdict.closing.observed
