"""What is shown while the checks run: a line for each verdict as soon as it is there. A pytest plugin."""

import pytest

from contract_tests import plugin
from contract_tests.report import summary_line

__all__ = ["pytest_report_teststatus"]


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """Return the line of a verdict in the place of a dot."""
    if report.when != "call":
        return None
    line = next((summary_line(each) for each in plugin.verdicts(config) if f"[{each.id}-" in report.nodeid), None)
    return None if line is None else (report.outcome, f"{line}\n", report.outcome.upper())
