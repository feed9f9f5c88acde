"""Reports for people and for CI systems, as a pytest plugin beside that of the suite."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.annotations import annotation, wanted
from contract_tests.baseline import BaselineError, read_baseline
from contract_tests.catalogue import CHECKS
from contract_tests.html import to_html
from contract_tests.verdict import Status
from emulator.outputfile import output_problem

__all__ = ["baseline_of"]

_baseline = pytest.StashKey[dict[str, str]]()
_SHOWN = frozenset({Status.FAIL, Status.WARN})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("contract", "contract checks (-m contract)")
    group.addoption("--contract-html", metavar="FILE", type=Path, help="write a report to FILE, to open in a browser")
    group.addoption(
        "--contract-baseline",
        metavar="FILE",
        type=Path,
        help="failures that are expected, an id and a reason a line (CT12  # ticket 7); one that passes, fails",
    )
    group.addoption(
        "--contract-annotations",
        action="store_true",
        help="print GitHub annotations; done without asking where GITHUB_ACTIONS=true",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the baseline; what cannot be read ends the run before it begins."""
    path: Path | None = config.getoption("contract_baseline")
    try:
        config.stash[_baseline] = (
            read_baseline(path, [check.id for check in (*CHECKS, *AGENT_CHECKS)]) if path is not None else {}
        )
    except BaselineError as error:
        raise pytest.UsageError(f"--contract-baseline {error}") from None
    if (problem := output_problem(config.getoption("contract_html"))) is not None:
        raise pytest.UsageError(f"--contract-html {problem}")


def baseline_of(config: pytest.Config) -> dict[str, str]:
    """Return the expected failures of the run."""
    return config.stash[_baseline]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page, where that was asked for."""
    from contract_tests import plugin  # noqa: PLC0415 - it imports this module

    config = session.config
    path: Path | None = config.getoption("contract_html")
    verdicts = plugin.verdicts(config)
    if path is not None and verdicts:
        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        page = to_html(verdicts, config.stash[plugin.title], config.stash[plugin.profile_name], when)
        path.write_text(page, encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print an annotation for each failure and warning, where somebody reads them."""
    from contract_tests import plugin  # noqa: PLC0415 - as above

    if not wanted(asked=config.getoption("contract_annotations")):
        return
    for verdict in plugin.verdicts(config):
        if verdict.status in _SHOWN:
            first = verdict.worst.causes[0] if verdict.worst.causes else ""
            text = f"{verdict.worst.observed}\nProbable cause: {first}" if first else verdict.worst.observed
            title = f"{verdict.id} {verdict.name}"
            line = annotation("error" if verdict.status is Status.FAIL else "warning", title, text)
            terminalreporter.write_line(line)
