"""Twenty runs in a row: a verdict that is not the same each time is found."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.cli.main import main
from contract_tests.repetition import conclusion, differences, tally
from contract_tests.tests.test_run import ROOT
from contract_tests.verdict import Finding, Level, Verdict, failed, passed

FLAKY = """
import pathlib
from contract_tests.good.speech import Session, speech_app
from starlette.websockets import WebSocketDisconnect

TURN = pathlib.Path(__file__).with_name("turn")
TURN.write_text(str(int(TURN.read_text()) + 1 if TURN.exists() else 1))
BAD = int(TURN.read_text()) == 2

class Flaky(Session):
    async def receive(self):
        return await self.ws.receive_text() if BAD else await super().receive()

app = speech_app(Flaky)
"""


def repeat(cwd: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "contract_tests.cli.main", "repeat", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_container_that_fails_now_and_then_is_caught(tmp_path: Path) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY, "utf-8")
    chosen = ["--only", "CT0", "--only", "ct1", "--profile", "kokoro"]
    code, output = repeat(tmp_path, "flaky:app", *chosen, "--times", "3", "--json", "r.json")
    assert code == 1, output
    assert re.search(r"^run 1 of 3: 2 PASS  \d", output, re.MULTILINE)
    assert re.search(r"^run 2 of 3: 1 PASS, 1 FAIL  .*CT1 FAIL \(first PASS\)$", output, re.MULTILINE)
    assert "3 runs of 2 checks, not all alike" in output
    assert "2 times: behaviour PASS, closing behaviour PASS" in output
    assert "1 time, in run 2: behaviour FAIL, closing behaviour FAIL, because: The handler reads with" in output
    assert "CT1 text-and-binary (MUST): FAIL" in output  # the whole verdict, with its wire log
    assert "\x1b" not in output
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert document["schema"] == "sagemaker-bidi-repeat/1"
    assert [(each["id"], each["alike"]) for each in document["checks"]] == [("CT0", True), ("CT1", False)]
    assert [each["status"] for each in document["checks"][1]["runs"]] == ["PASS", "FAIL", "PASS"]


def test_without_a_target_there_is_nothing_to_repeat(tmp_path: Path) -> None:
    code, output = repeat(tmp_path, "nothing:app", "--times", "2")
    assert code == 3, output
    assert output.count("The target did not come up") == 1
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mine", "--times", "2"], "that is no target"),
        (["mine:app", "--times", "0"], "expected a whole number above 0"),
        (["mine:app", "--only", "CT99"], "no check CT99"),
        (["mine:app", "--only", "CT1", "--skip", "CT1"], "leave no check"),
        (["mine:app", "--profile", "kokro"], "Did you mean 'kokoro'?"),
        (["mine:app", "--server", "gunicorn"], "uvicorn or hypercorn"),
        (["mine:app", "--json", "nowhere/r.json"], "does not exist"),
        (["mine:app", "--", "-x"], "behind --"),
    ],
)
def test_errors_say_what_to_do(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["repeat", *arguments])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 4
    assert words in capsys.readouterr().err


def verdict(behaviour: Finding, seconds: float = 1.0) -> Verdict:
    return Verdict("CT1", "a-check", Level.MUST, "much", (), behaviour, passed("Close 1000"), seconds=seconds)


def fails(observed: str, cause: str) -> Verdict:
    return verdict(failed(sent="a", expected="b", observed=observed, causes=[cause]))


def test_times_and_texts_may_differ_statuses_and_causes_may_not() -> None:
    assert not differences([[verdict(passed("in 1 s"))], [verdict(passed("in 2 s"), 9.0)]])
    assert not differences([[fails("after 1 s", "the loop")], [fails("after 2 s", "the loop")]])
    (found,) = differences([[fails("no", "the lock")], [fails("no", "the loop")], [fails("no", "the loop")]])
    assert [numbers for numbers, _ in found.kinds] == [(2, 3), (1,)]
    assert "1 time, in run 1" in "\n".join(found.lines())


def test_a_tally_names_what_there_is() -> None:
    verdicts = [verdict(passed("")), fails("no", "the loop"), verdict(passed(""))]
    assert tally(verdicts) == "2 PASS, 1 FAIL"


def test_what_fails_each_time_is_steady_and_named() -> None:
    runs = [[fails("no", "the lock")], [fails("none", "the lock")]]
    assert list(conclusion(runs)) == [
        "2 runs of 1 check, no difference: 1 FAIL",
        "The same each time: FAIL CT1 a-check; `contract check --only CT1` says why.",
    ]
    assert "The same each time" not in "\n".join(conclusion([*runs, [verdict(passed(""))]]))
