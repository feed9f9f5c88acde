"""Expected failures: a file of ids and reasons."""

from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests.annotations import annotation, wanted
from contract_tests.baseline import BaselineError, expected, read_baseline
from contract_tests.verdict import Finding, Level, Status, Verdict, failed, not_applicable, passed

FAILED = failed(sent="a", expected="b", observed="no reply")


def verdict(behaviour: Finding, closing: Finding) -> Verdict:
    return Verdict("CT1", "a-check", Level.MUST, "much", (), behaviour, closing)


@pytest.mark.parametrize(
    ("behaviour", "closing", "status", "words"),
    [
        (FAILED, FAILED, Status.WARN, "expected (ticket 7): no reply"),
        (passed("fine"), FAILED, Status.WARN, "expected (ticket 7): no reply"),
        (passed("fine"), passed("Close 1000"), Status.FAIL, "it does not fail any more: fine"),
        (passed("fine"), replace(FAILED, status=Status.WARN), Status.WARN, "expected (ticket 7): no reply"),
        (not_applicable("why"), not_applicable("why"), Status.NOT_APPLICABLE, "why"),
    ],
)
def test_an_entry_turns_a_failure_into_a_warning_and_a_pass_into_a_failure(
    behaviour: Finding, closing: Finding, status: Status, words: str
) -> None:
    judged = expected(verdict(behaviour, closing), {"CT1": "ticket 7"})
    assert judged.status is status
    assert judged.worst.observed == words


def test_other_checks_are_not_touched() -> None:
    one = verdict(FAILED, passed("fine"))
    assert expected(one, {"CT2": ""}) is one


def test_a_file_is_ids_and_reasons(tmp_path: Path) -> None:
    file = tmp_path / "known.txt"
    file.write_text("# what we know of\n\nCT1  # ticket 7\nCT2\n", "utf-8")
    assert read_baseline(file, ["CT1", "CT2"]) == {"CT1": "ticket 7", "CT2": ""}


@pytest.mark.parametrize(
    ("text", "words"), [("CT9\n", ":1: there is no check 'CT9'"), ("CT1\nCT1\n", ":2: CT1 stands")]
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "known.txt"
    file.write_text(text, "utf-8")
    with pytest.raises(BaselineError, match=r"known\.txt") as caught:
        read_baseline(file, ["CT1"])
    assert words in str(caught.value)
    with pytest.raises(BaselineError, match="cannot be read"):
        read_baseline(tmp_path / "nothing", ["CT1"])


def test_annotations_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    line = annotation("error", "CT1: a, b", "100 %\nmore", "a:b.py", 3)
    assert line == "::error file=a%3Ab.py,line=3,title=CT1%3A a%2C b::100 %25%0Amore"
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert not wanted(asked=False)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert wanted(asked=False)
