"""The pytest plugin: options, the target of the run, and how verdicts are shown."""

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contract_tests import profile, reporting
from contract_tests.agents import plugin as agents
from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.agents.target import agent_target
from contract_tests.baseline import expected
from contract_tests.bench import Bench, second_start_s
from contract_tests.catalogue import CHECKS
from contract_tests.check import Check
from contract_tests.collector import Collector, VerdictRepr, attach
from contract_tests.export import to_json
from contract_tests.machine import load
from contract_tests.progress import COLOURS, Progress
from contract_tests.report import next_steps, render, summary_line
from contract_tests.runner import DEFAULT_IDLE_S, bench_for, judge
from contract_tests.verdict import Status, Verdict
from contract_tests.visible import visible
from contract_tests.workers import (
    auto_workers,
    can_be_interrupted,
    give_time_to_end,
    is_first,
    is_worker,
    taking_turns,
)
from emulator import target
from emulator.arguments import seconds
from emulator.launch import TargetError, running, starting
from emulator.outputfile import output_problem
from emulator.sigterm import ended_by_sigterm

__all__ = ["ContractFailedError", "judged_by", "profile_name", "pronounce", "tell", "title", "verdicts"]

_collector = pytest.StashKey[Collector]()
_pronounced = pytest.StashKey[Verdict]()
title = pytest.StashKey[str]()
"""What the run judges, in words; a plugin with targets of its own sets it."""
profile_name = pytest.StashKey[str]()
_target = pytest.StashKey[target.Target]()
_load = pytest.StashKey[float]()
_profile = pytest.StashKey[profile.Profile]()


class ContractFailedError(AssertionError):
    """Raised by a contract test; its text is the verdict."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(render(verdict))


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of the suite. Their names must not meet those of pytest and its plugins."""
    pluginmanager.register(reporting, "contract_tests.reporting")
    pluginmanager.register(agents, "contract_tests.agents.plugin")
    group = parser.getgroup("contract", "contract checks (-m contract)")
    group.addoption(
        "--target",
        metavar="TARGET",
        help="MODULE:APP, FILE.py:APP, http://HOST:PORT, ws://HOST:PORT, image:NAME[:TAG] or command:WORDS with "
        "{port}; or an agent: agent, agent:MODULE:APP, agent:http://HOST:PORT, agent:WORDS with {port}",
    )
    group.addoption(
        "--server", metavar="SERVER", default=target.SERVERS[0], help="serves MODULE:APP: uvicorn or hypercorn"
    )
    group.addoption(
        "--profile", metavar="NAME|FILE.toml", help=f"protocol to judge by: {', '.join(profile.builtin_profiles())}"
    )
    group.addoption("--start-timeout", metavar="SECONDS", type=seconds, help="until /ping has to answer 200")
    group.addoption(
        "--idle-seconds",
        metavar="SECONDS",
        type=seconds,
        default=DEFAULT_IDLE_S,
        help="pause that a session has to survive in CT7 (%(default)s; a real conversation pauses for a minute)",
    )
    group.addoption(
        "--contract-level",
        choices=("MUST", "SHOULD"),
        default="MUST",
        help="what fails the run: only a MUST (%(default)s), or a warning too",
    )
    group.addoption("--contract-json", metavar="FILE", type=Path, help="write the verdicts to FILE as JSON")
    group.addoption("--list-checks", action="store_true", help="print the checks and exit")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer ``--list-checks`` before anything is collected."""
    if not config.getoption("list_checks"):
        return None
    for check in (*CHECKS, *AGENT_CHECKS):
        print(f"{check.id:<5} {check.name:<26} {check.level:<6} {check.stake}")
    return 0


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what cannot be understood ends the run before it begins."""
    server = config.getoption("server")
    if server not in target.SERVERS:
        raise pytest.UsageError(f"--server {server!r}: expected {' or '.join(target.SERVERS)}")
    agent = None
    asked: str | None = config.getoption("profile")
    try:
        agent = agent_target(config.getoption("target"))
        chosen = target.parse(None if agent else config.getoption("target"), server)
        rules = profile.load(chosen.profile if agent or asked is None else asked)
        config.stash[profile_name] = rules.name if agent is None else agents.judge_agents(config, agent, asked)
    except target.TargetSyntaxError as error:
        raise pytest.UsageError(str(error)) from None
    except profile.ProfileError as error:
        raise pytest.UsageError(f"--profile {error}") from None
    if (problem := output_problem(config.getoption("contract_json"))) is not None:
        raise pytest.UsageError(f"--contract-json {problem}")
    config.stash[_load] = load()
    config.stash[_target] = chosen
    config.stash[title] = str(agent or chosen)
    config.stash[_profile] = rules
    if is_worker(config):
        can_be_interrupted()
    else:
        _report_here(config)


def _report_here(config: pytest.Config) -> None:
    config.stash[_collector] = collector = Collector()
    config.pluginmanager.register(collector, "contract_tests.collector")
    if config.getoption("dist", "no") != "no":  # workers end when this process does, if it ends in order
        give_time_to_end()
        until_end = ExitStack()
        until_end.enter_context(ended_by_sigterm())
        config.add_cleanup(until_end.close)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Show the verdicts as they come, in a run of contract checks alone."""
    manager = session.config.pluginmanager
    reporter = manager.get_plugin("terminalreporter")
    if session.config.getoption("markexpr") == "contract" and isinstance(reporter, pytest.TerminalReporter):
        manager.register(Progress.on(reporter), "contract_tests.progress")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Say what ``-n auto`` means for a run of contract checks alone; the target has not been looked at yet."""
    if config.getoption("markexpr") != "contract" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    try:
        chosen = target.parse(config.getoption("target"))
    except target.TargetSyntaxError:
        return 0  # said in a moment
    return auto_workers(chosen, len(os.sched_getaffinity(0)))


def tell(config: pytest.Config, line: str) -> None:
    """Write a line past pytest's capture: a fixture that waits would be silent for a minute."""
    if not is_first(config):
        return
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        print(f"\n{line}", file=sys.stderr, flush=True)


@pytest.fixture(scope="module")
def contract_bench(pytestconfig: pytest.Config) -> Iterator[Bench]:
    """Start the target and put the emulator in front of it; without a target there is nothing to test."""
    chosen = pytestconfig.stash[_target]
    asked = pytestconfig.getoption("start_timeout")
    cwd = Path(pytestconfig.invocation_params.dir)
    with (
        ended_by_sigterm(),
        running(chosen, asked or chosen.start_timeout, cwd, tell=partial(tell, pytestconfig)) as own,
        bench_for(
            own.url,
            pytestconfig.stash[_profile],
            pytestconfig.getoption("idle_seconds"),
            own=own if own.ours else None,
            starter=partial(starting, chosen, cwd) if own.ours else None,
            start_seconds=second_start_s(asked, chosen.start_timeout),
        ) as bench,
    ):
        yield bench


@pytest.fixture
def contract_judge(
    contract_bench: Bench, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Check], None]:
    """Return what runs one check on the target of the run and raises its verdict."""

    def run(check: Check) -> None:
        with taking_turns(pytestconfig, pytestconfig.stash[_target], tmp_path_factory.getbasetemp()):
            verdict = asyncio.run(judge(check, contract_bench))
        pronounce(pytestconfig, verdict)

    return run


def pronounce(config: pytest.Config, verdict: Verdict) -> None:
    """Grade a verdict and keep it for the summary; raise it, or skip the test, as its status wants."""
    known = reporting.baseline_of(config)
    strict = config.getoption("contract_level") == "SHOULD"
    verdict = expected(verdict, known) if verdict.id in known else verdict.graded(strict)
    config.stash[_pronounced] = verdict
    if verdict.status is Status.FAIL:
        raise ContractFailedError(verdict)
    if verdict.status is Status.NOT_APPLICABLE:
        pytest.skip(visible(verdict.behaviour.observed))


def verdicts(config: pytest.Config) -> tuple[Verdict, ...]:
    """Return the verdicts of the run so far; none in a worker of pytest-xdist, which does not report."""
    collector = config.stash.get(_collector, None)
    return () if collector is None else collector.verdicts


def judged_by(config: pytest.Config) -> profile.Profile:
    """Return the profile of the run."""
    return config.stash[_profile]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a verdict instead of the traceback that carried it, and hand it on with the report."""
    report = yield
    raised = None if call.excinfo is None else call.excinfo.value
    if isinstance(raised, TargetError):
        attach(item, report, raised)
    verdict = item.config.stash.get(_pronounced, None)
    if call.when == "call" and verdict is not None:
        del item.config.stash[_pronounced]
        attach(item, report, verdict)
        if isinstance(raised, ContractFailedError):
            report.longrepr = VerdictRepr(verdict, str(item.path))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the text of warnings, failures have been printed in full, and one line per check."""
    found = verdicts(config)
    if not found:
        return
    warnings = [verdict for verdict in found if verdict.status is Status.WARN]
    if warnings:
        terminalreporter.section("contract: warnings")
    for verdict in warnings:
        terminalreporter.line(render(verdict))
        terminalreporter.line("")
    terminalreporter.section(f"contract: {config.stash[title]}, profile {config.stash[profile_name]}")
    for verdict in found:
        terminalreporter.line(summary_line(verdict), **{COLOURS[verdict.status]: True})
    for line in next_steps(found, config.stash[profile_name], max(config.stash[_load], load())):
        terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the verdicts for programs, where that was asked for."""
    config = session.config
    path: Path | None = config.getoption("contract_json")
    if path is not None and verdicts(config):
        document = to_json(verdicts(config), config.stash[title], config.stash[profile_name])
        path.write_text(document, encoding="utf-8")
