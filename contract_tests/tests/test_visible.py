"""What a container says can neither destroy a report nor control a terminal."""

import json
import re
from pathlib import Path

import pytest

from contract_tests.annotations import annotation
from contract_tests.export import to_json
from contract_tests.report import summary_line
from contract_tests.tests.test_run import run
from contract_tests.verdict import Fix, Level, Verdict, failed, passed

SAYS = """
from contract_tests.good.speech import Session, speech_app

class Half(Session):
    async def answer(self, payload):
        await self.ws.send_text('{"type": "error", "message": "no voice for: Hello \\\\ud83d"}')
        return True

class Escape(Session):
    async def answer(self, payload):
        await self.ws.close(1011, "boom \\x1b[2J\\x1b[31m PASS")
        return False

half, escape = speech_app(Half), speech_app(Escape)
"""


@pytest.mark.parametrize(
    ("app", "words"), [("half", r"no voice for: Hello \ud83d"), ("escape", r"boom \x1b[2J\x1b[31m PASS")]
)
def test_reports_hold_what_the_container_says(tmp_path: Path, app: str, words: str) -> None:
    (tmp_path / "mine.py").write_text(SAYS, "utf-8")
    reports = ["--contract-json=r.json", "--contract-html=r.html", "--contract-annotations", "--junitxml=r.xml"]
    code, output, _ = run(
        tmp_path, "--target", "mine:app".replace("app", app), "--profile=kokoro", "-k", "CT0", *reports
    )
    assert code == 1, output
    assert words in re.sub(r"\n +", "", output), output
    assert re.search(r"^FAIL +CT0 ", output, re.MULTILINE)
    assert "\x1b" not in output
    assert "Traceback" not in output
    document = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert [each["status"] for each in document["verdicts"]] == ["FAIL"]
    assert "</html>" in (tmp_path / "r.html").read_text("utf-8")
    assert "</testsuites>" in (tmp_path / "r.xml").read_text("utf-8")


def test_one_line_is_one_line_whatever_is_in_it() -> None:
    said = "a\x1b[31mb\x9bc\rd\ud83d"
    finding = failed(sent=said, expected=said, observed=said, causes=[said], fix=Fix(said))
    verdict = Verdict("CT0", "x", Level.MUST, "much", (), finding, passed(""), log=(said,), output=(said,))
    assert r"a\x1b[31mb\x9bc\x0dd\ud83d" in summary_line(verdict)
    assert annotation("error", "t", said + "\n%") == r"::error title=t::a\x1b[31mb\x9bc\x0dd\ud83d%0A%25"
    assert to_json([verdict], "a target", "kokoro").encode("utf-8")


@pytest.mark.parametrize("option", ["--contract-json", "--contract-html"])
def test_a_report_that_cannot_be_written_ends_the_run_before_it_begins(tmp_path: Path, option: str) -> None:
    (tmp_path / "folder").mkdir()
    for name, words in (
        ("folder", "that is a directory, expected the name of a file"),
        ("nowhere/r", "does not exist"),
        ("x" * 300, "name too long"),
    ):
        code, output, seconds = run(tmp_path, "--target", "mine:app", f"{option}={name}", "-k", "CT0")
        assert code == 4, output
        assert f"{option} {name}: " in output
        assert words in output.replace("File name", "name")
        assert "Traceback" not in output
        assert seconds < 50
