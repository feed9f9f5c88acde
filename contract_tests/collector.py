"""The verdicts of a run, in the process that reports: its own, or those that the workers of pytest-xdist send."""

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS
from contract_tests.exit_status import ExitStatus
from contract_tests.packing import pack, unpack
from contract_tests.report import render
from contract_tests.verdict import Verdict
from contract_tests.visible import visible
from emulator.launch import TargetError

__all__ = ["Collector", "VerdictRepr", "attach", "verdict_of"]

_VERDICT = "contract_verdict"
_NO_TARGET = "contract_no_target"
_ORDER = {check.id: number for number, check in enumerate((*CHECKS, *AGENT_CHECKS))}


class VerdictRepr(TerminalRepr):
    """Shows a verdict in place of a traceback."""

    def __init__(self, verdict: Verdict, path: str) -> None:
        self.text = render(verdict)
        # read by pytest for its one-line summary of failures
        self.reprcrash = ReprFileLocation(path, 0, visible(verdict.worst.observed.split("\n")[0]))

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the verdict; its headings stand out."""
        for number, line in enumerate(self.text.splitlines()):
            indented = line.startswith(" ")
            tw.line(line, bold=not indented, red=number == 0)


def attach(item: pytest.Item, report: pytest.TestReport, what: Verdict | TargetError) -> None:
    """Add to a report of pytest, which also travels between processes, what a contract test found.

    The properties of the test are in JUnit XML, too.
    """
    if isinstance(what, TargetError):
        vars(report)[_NO_TARGET] = [what.problem, str(what)]
        return
    vars(report)[_VERDICT] = pack(what)
    item.user_properties += _properties(what)


def _properties(verdict: Verdict) -> list[tuple[str, object]]:
    first = next(iter(verdict.worst.causes), "")
    properties = {
        "contract.id": verdict.id,
        "contract.level": verdict.level.value,
        "contract.status": verdict.status.value,
        "contract.behaviour": verdict.behaviour.status.value,
        "contract.closing": verdict.closing.status.value,
        "contract.reason": verdict.worst.observed,
        "contract.cause": first,
    }
    return [(name, value) for name, value in properties.items() if value]


def verdict_of(report: pytest.TestReport | pytest.CollectReport) -> Verdict | None:
    """Return the verdict that a report carries."""
    packed: bytes | None = vars(report).get(_VERDICT)
    return None if packed is None else unpack(packed)


class Collector:
    """A plugin that keeps what the reports carry. Without a target it ends the run: there is nothing to judge."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict] = []
        self.no_target = ""
        """Why there is none; empty where there is one."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What has been found so far, in the order of the catalogue."""
        return tuple(sorted(self._verdicts, key=lambda verdict: _ORDER.get(verdict.id, len(_ORDER))))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take up a report before it is shown."""
        if (no_target := vars(report).get(_NO_TARGET)) is not None:
            problem, self.no_target = no_target
            pytest.exit(f"no target: {problem}", returncode=ExitStatus.NOTHING_TO_JUDGE)
        verdict = verdict_of(report)
        if verdict is None:
            return
        self._verdicts.append(verdict)
        if report.failed:
            report.longrepr = VerdictRepr(verdict, str(report.fspath))

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Say at the very end why there was no target."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if self.no_target and isinstance(reporter, pytest.TerminalReporter):
            reporter.section("the target", red=True)
            reporter.line(self.no_target)
