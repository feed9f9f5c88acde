"""The suite is tested by what it catches: every check against every broken and every good container."""

from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.capture import CaptureManager

from contract_tests import broken, good
from contract_tests.catalogue import CHECKS
from contract_tests.containers import Container
from contract_tests.matrix import Matrix, measure
from contract_tests.verdict import Level, Verdict, failed, passed
from emulator.tests.required import required


def test_each_broken_container_fails_its_own_check_only(request: pytest.FixtureRequest) -> None:
    matrix = measure([*broken.CONTAINERS, *good.CONTAINERS])
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    if isinstance(reporter, pytest.TerminalReporter):  # a worker of pytest-xdist has none
        assert isinstance(capture, CaptureManager)
        with capture.global_and_fixture_disabled():
            reporter.section("checks against containers")
            for line in matrix.lines():
                reporter.line(line)
    problems = "\n\n".join(matrix.problems())
    assert not problems, problems
    assert not (matrix.missing and required()), matrix.missing


def test_every_check_has_a_container_that_it_catches() -> None:
    caught = {container.caught_by for container in broken.CONTAINERS}
    assert caught == {check.id for check in CHECKS}


def test_the_page_has_a_row_for_every_container_and_a_column_for_every_check() -> None:
    head, _, *rows = [
        line.split(" | ")
        for line in (Path(__file__).parents[2] / "docs" / "matrix.md").read_text().splitlines()
        if line[:1] == "|"
    ]
    columns = [f"CT{number.strip(' |')}" for number in head[2:]]
    failing = {
        row[0].strip("|` "): [c for c, cell in zip(columns, row[2:], strict=True) if "**FAIL**" in cell] for row in rows
    }
    assert columns == [check.id for check in CHECKS]
    known = {each.name: [each.caught_by] if each.caught_by else [] for each in (*broken.CONTAINERS, *good.CONTAINERS)}
    assert failing == known, "stale: uv run python -m contract_tests.matrix --page > docs/matrix.md"


def container(caught_by: str | None) -> Container:
    return Container("one", "module:app", "uvicorn", caught_by, "kokoro", "a mistake")


def verdict(check_id: str, *, fails: bool) -> Verdict:
    finding = failed(sent="a", expected="b", observed="c") if fails else passed("fine")
    return Verdict(check_id, "name", Level.MUST, "much", (), finding, passed("Close 1000"))


def test_a_should_check_counts_only_for_its_own_container() -> None:
    row = [replace(verdict("CT1", fails=True), level=Level.SHOULD)]
    assert not list(Matrix([(container("CT1"), row)], 1.0).problems())
    assert not list(Matrix([(container(None), row)], 1.0).problems())


def test_a_container_that_answers_nothing_may_fail_ct0() -> None:
    row = [verdict("CT0", fails=True), verdict("CT1", fails=True)]
    assert len(list(Matrix([(container("CT1"), row)], 1.0).problems())) == 1
    assert not list(Matrix([(replace(container("CT1"), blocks=True), row)], 1.0).problems())


@pytest.mark.parametrize(
    ("caught_by", "failing", "problem"),
    [
        ("CT1", {"CT1"}, None),
        ("CT1", set(), "CT1 does not catch it"),
        ("CT1", {"CT1", "CT2"}, "CT2 fails too"),
        (None, set(), None),
        (None, {"CT2"}, "CT2 fails too"),
    ],
)
def test_a_cell_that_is_wrong_is_a_problem(caught_by: str | None, failing: set[str], problem: str | None) -> None:
    row = [verdict(check_id, fails=check_id in failing) for check_id in ("CT1", "CT2")]
    problems = list(Matrix([(container(caught_by), row)], 1.0).problems())
    assert len(problems) == (0 if problem is None else 1)
    assert problem is None or problem in problems[0]


@pytest.mark.parametrize(("cause", "problems"), [("queue of the module", 0), ("no such thing", 1)])
def test_the_wrong_cause_first_is_a_problem(cause: str, problems: int) -> None:
    finding = failed(sent="a", expected="b", observed="c", causes=["a queue of the module", "no such thing"])
    row = [replace(verdict("CT1", fails=True), behaviour=finding)]
    assert len(list(Matrix([(replace(container("CT1"), cause=cause), row)], 1.0).problems())) == problems


def test_every_broken_container_names_its_cause() -> None:
    assert all(each.cause for each in broken.CONTAINERS)


def test_what_could_not_be_started_is_named_once_for_each_reason() -> None:
    row = [verdict("CT1", fails=False)]
    matrix = Matrix([(container(None), row)], 1.0, {"one": "no compiler", "two": "no compiler", "three": "no npm"})
    assert list(matrix.lines())[-2:] == ["not run: one, two: no compiler", "not run: three: no npm"]
