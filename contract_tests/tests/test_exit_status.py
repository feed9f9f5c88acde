"""The exit status is what the documentation says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.exit_status import ExitStatus
from contract_tests.tests.test_cli import ended
from contract_tests.tests.test_run import ROOT

PAGE = ROOT / "docs" / "ci.md"
CONTRACT = [sys.executable, "-m", "contract_tests.cli.main"]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "contract"]
TESTS = str(ROOT / "contract_tests" / "test_contract.py")


def test_each_status_is_on_the_page() -> None:
    section = PAGE.read_text("utf-8").split("## Exit status")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d) \|(.+)\|$", section, re.MULTILINE)
    assert [int(status) for status, _ in rows] == list(ExitStatus)
    assert all(len(cells.split("|")) == 3 for _, cells in rows)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["lint", "good.py"], ExitStatus.GOOD),
        (["lint", "bad.py"], ExitStatus.FOUND),
        (["lint", "nowhere"], ExitStatus.NOTHING_TO_JUDGE),
        (["lint"], ExitStatus.USAGE),
        (["image", "nowhere"], ExitStatus.NOTHING_TO_JUDGE),
        (["image", "."], ExitStatus.FOUND),
    ],
)
def test_commands_that_run_nothing(
    arguments: list[str], status: ExitStatus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.py").touch()
    Path("bad.py").write_text("async def stream(websocket):\n    await websocket.receive_text()\n", "utf-8")
    Path("Dockerfile").write_text("FROM scratch\n", "utf-8")
    assert ended(arguments) == status


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ([*CONTRACT, "check", "mine:app", "--only", "CT1", "--skip", "CT1"], ExitStatus.NO_CHECKS),
        ([*PYTEST, "--target=mine:app", "-k", "CT99", TESTS], ExitStatus.NO_CHECKS),
    ],
)
def test_no_check_is_left(command: list[str], status: ExitStatus) -> None:
    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    # 0, 1, 3 and 4 of `contract check`: test_action; 1 to 4 of pytest: test_run; of `contract repeat`: test_repeat
