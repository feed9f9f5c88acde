"""The pytest plugin of ``pytest -m live``: its options, the endpoint of the run, its budget and its report."""

import asyncio
import datetime
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pytest

from contract_tests.agents.bench import deployed_bench
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.profile import AgentProfile, load_agent_profile
from contract_tests.agents.runner import judge_agent
from contract_tests.bench import Bench
from contract_tests.check import Check
from contract_tests.plugin import judged_by, pronounce, title, verdicts
from contract_tests.profile import ProfileError
from contract_tests.runner import judge
from contract_tests.verdict import Status
from contract_tests.workers import is_worker
from deploy import images
from emulator.sigterm import ended_by_sigterm
from live_tests.agent import READ_TIMEOUT_S
from live_tests.budget import Budget, disagreement, standing_cost
from live_tests.cloud import Cloud, UnreachableError, connected
from live_tests.deployed import Deployed
from live_tests.description import Description, NoEndpointError, describe
from live_tests.parity.report import Findings, document, summary
from live_tests.parity.watcher import Watcher
from live_tests.settings import DEFAULT_BUDGET_MINUTES, NotConfiguredError, Settings, SettingsError, settings

__all__ = ["Billing", "Labels", "OutOfTime"]

_settings = pytest.StashKey[Settings]()
_agent_profile = pytest.StashKey[AgentProfile]()
_unset = pytest.StashKey[str]()
_findings = pytest.StashKey[Findings]()
_begun = pytest.StashKey[bool]()
_cloud = pytest.StashKey[Cloud]()
_open = pytest.StashKey[ExitStack]()

type Billing = Callable[[str], None]
"""Called with what will be done and what it costs, before it is done; skips the test where that was not agreed to."""

type OutOfTime = Callable[[], NoReturn]
"""Called where the budget of the run ends in the middle of a test: skips the test, and stops the run behind it."""

type Labels = Callable[[Cloud, str], Mapping[str, str]]
"""Returns the labels of an image by its address; raises DeployError where they cannot be read."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a live run."""
    group = parser.getgroup("live", "checks against a deployed endpoint (-m live)")
    group.addoption("--endpoint", metavar="NAME", help="the deployed endpoint")
    group.addoption("--region", metavar="REGION", help="its region (default: AWS_REGION)")
    group.addoption("--agent-runtime", metavar="ARN", help="the AgentCore runtime of the agent, to judge that too")
    group.addoption(
        "--agent-profile",
        metavar="PROFILE",
        default="voice-agent",
        help="how the agent is asked and what its events are: a name or a TOML file (default: %(default)s)",
    )
    group.addoption("--outputs", metavar="FILE", type=Path, help="take the three from the outputs file of a deploy")
    group.addoption(
        "--endpoint-url", metavar="URL", help="https://HOST:PORT of what stands in for AWS, e.g. of the emulator"
    )
    group.addoption(
        "--yes", action="store_true", help="agree to what bills beyond the running endpoint (the agent, a deployment)"
    )
    group.addoption(
        "--budget-minutes",
        metavar="N",
        type=float,
        default=DEFAULT_BUDGET_MINUTES,
        help="the run is stopped after so long (default: %(default)g)",
    )
    group.addoption(
        "--live-report", metavar="FILE", type=Path, help="where the report is written (default: live-report.json)"
    )
    group.addoption(
        "--twin", metavar="TARGET", help="a local container, as for --target, to compare the emulator's answers with"
    )
    group.addoption(
        "--negative-control",
        metavar="IMAGE",
        help="image of a container that fails CT1; it is deployed beside the endpoint, judged and deleted",
    )


@pytest.hookimpl(trylast=True)  # after the plugin of the contract run, which names its target first
def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what cannot be understood ends the run before it begins."""
    minutes = config.getoption("budget_minutes")
    if not 0 < minutes < float("inf"):
        raise pytest.UsageError(f"--budget-minutes {minutes:g}: expected minutes above 0")
    report: Path | None = config.getoption("live_report")
    if report is not None and not report.absolute().parent.is_dir():
        raise pytest.UsageError(f"--live-report {report}: the directory {report.absolute().parent} does not exist")
    try:
        chosen = settings(
            endpoint=config.getoption("endpoint"),
            region=config.getoption("region"),
            endpoint_url=config.getoption("endpoint_url"),
            agent_runtime=config.getoption("agent_runtime"),
            outputs=config.getoption("outputs"),
            agreed=config.getoption("yes"),
            budget_minutes=minutes,
            report=report,
            twin=config.getoption("twin"),
            negative_control=config.getoption("negative_control"),
        )
    except NotConfiguredError as reason:
        config.stash[_unset] = str(reason)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    else:
        try:
            config.stash[_agent_profile] = load_agent_profile(config.getoption("agent_profile"))
        except ProfileError as error:
            raise pytest.UsageError(f"--agent-profile: {error}") from None
        config.stash[_settings] = chosen
        config.stash[title] = str(chosen)
    config.stash[_findings] = Findings()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip every live test where there is no endpoint or no credentials: here, to be one line of the summary."""
    if item.get_closest_marker("live") is None:
        return
    if is_worker(item.config):
        pytest.skip("a live run has one endpoint, one budget and one report, and so one process: leave out -n")
    stash = item.config.stash
    if _unset not in stash and _cloud not in stash:
        stash[_open] = ExitStack()
        # a CI that gives up sends SIGTERM: like Ctrl-C it must not leave behind what was deployed
        stash[_open].enter_context(ended_by_sigterm())
        try:
            stash[_cloud] = stash[_open].enter_context(connected(stash[_settings]))
        except NotConfiguredError as error:
            stash[_unset] = str(error)
        except UnreachableError as error:
            pytest.exit(str(error), returncode=3)
    if (reason := stash.get(_unset, None)) is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def live_cloud(pytestconfig: pytest.Config) -> Cloud:
    """The account of the run."""
    return pytestconfig.stash[_cloud]


@pytest.fixture(scope="session")
def live_endpoint(live_cloud: Cloud, pytestconfig: pytest.Config) -> Description:
    """What SageMaker says of the endpoint; printed with what it costs before anything is done with it."""
    chosen = live_cloud.settings
    try:
        found = describe(live_cloud.client("sagemaker"), chosen.endpoint)
    except NoEndpointError as error:
        pytest.exit(f"no endpoint: {chosen} cannot be described: {error}", returncode=3)
    lines = [f"{chosen}: {found.status}, configuration {found.config}"]
    if chosen.local:
        lines.append("on this machine: nothing is billed, and nothing is learnt about AWS")
    else:
        lines += [standing_cost(variant.instance_type, variant.instances, chosen.prices) for variant in found.variants]
        lines.append(
            "this run adds nothing to that" + ("" if chosen.agreed else "; what would, is skipped without --yes")
        )
    lines.append(f"time budget {chosen.budget_s / 60:g} minutes")
    _say(pytestconfig, lines)
    if found.status != "InService":
        pytest.exit(f"{chosen} is {found.status}, not InService. {found.reason}".strip(), returncode=3)
    pytestconfig.stash[_begun] = True
    return found


def _say(config: pytest.Config, lines: list[str]) -> None:
    """Print at once, past the capture of the test that asked first."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        reporter.ensure_newline()
        for line in lines:
            reporter.write_line(f"live: {line}")


@pytest.fixture(scope="session")
def live_budget(live_endpoint: Description, live_cloud: Cloud) -> Budget:
    """The time of the run; it begins to run with the first test that reaches the endpoint."""
    del live_endpoint
    return Budget(live_cloud.settings.budget_s)


@pytest.fixture
def live_out_of_time(live_budget: Budget, request: pytest.FixtureRequest) -> OutOfTime:
    """What a test does when the time of the run is over, and with it the patience that a judgement needs."""

    def stop() -> NoReturn:
        request.session.shouldstop = f"{live_budget} is used up; raise it with --budget-minutes"
        pytest.skip(f"{live_budget} is used up")

    return stop


@pytest.fixture
def live(live_cloud: Cloud, live_budget: Budget, live_out_of_time: OutOfTime) -> Cloud:
    """The account of the run, for one test: when the time is over, the run stops here."""
    if live_budget.spent:
        live_out_of_time()
    return live_cloud


@pytest.fixture
def live_billing(live: Cloud) -> Billing:
    """Ask before something is done that bills beyond the running endpoint."""

    def ask(what: str) -> None:
        reason = disagreement(what, agreed=live.settings.agreed, local=live.settings.local)
        if reason is not None:
            pytest.skip(reason)

    return ask


@pytest.fixture(scope="session")
def live_findings(pytestconfig: pytest.Config) -> Findings:
    """What the run gathers for its report."""
    return pytestconfig.stash[_findings]


@pytest.fixture(scope="session")
def live_labels() -> Labels:
    """How the labels of a deployed image are read; a project with another registry overrides this fixture."""
    return images.labels


@pytest.fixture(scope="session")
def live_bench(
    live_cloud: Cloud, live_endpoint: Description, live_findings: Findings, pytestconfig: pytest.Config
) -> Bench:
    """The test bench of the checks, with the deployed endpoint as the way to the container."""
    profile = judged_by(pytestconfig)
    port = None if live_cloud.settings.local else urlsplit(live_cloud.settings.streaming_url).port
    witness = Watcher(live_findings.ledger, profile, port, live_endpoint.variant_names)
    reach = Deployed(live_cloud, live_endpoint.name, witness)
    return Bench(reach, profile, pytestconfig.getoption("idle_seconds"))


@pytest.fixture
def live_agent(live: Cloud) -> str:
    """The ARN of the agent's runtime."""
    runtime = live.settings.agent_runtime
    if runtime is None:
        pytest.skip("no agent is named: --agent-runtime ARN, or --outputs FILE of a deployment that has one")
    return runtime


@pytest.fixture
def live_judge(
    live: Cloud, live_budget: Budget, live_bench: Bench, live_out_of_time: OutOfTime, pytestconfig: pytest.Config
) -> Callable[[Check], None]:
    """Return what runs one check on the endpoint and raises its verdict; none where the budget ends in mid-check."""
    del live

    def run(check: Check) -> None:
        verdict = asyncio.run(judge(check, live_bench, live_budget.left))
        if verdict.status is Status.NOT_APPLICABLE and live_budget.spent:
            live_out_of_time()  # the run had no time for it, which says nothing of the container
        pronounce(pytestconfig, verdict)

    return run


@pytest.fixture
def live_agent_judge(
    live: Cloud, live_agent: str, live_billing: Billing, pytestconfig: pytest.Config
) -> Callable[[AgentCheck], None]:
    """Return what runs one check of agents through the deployed runtime and raises its verdict."""
    live_billing("about fifteen short answers of the agent, a few cents for the model and the runtime's seconds")
    profile = pytestconfig.stash[_agent_profile]
    profile = replace(profile, timeout=max(profile.timeout, READ_TIMEOUT_S))
    bench = deployed_bench(live.client("bedrock-agentcore", profile.timeout), live_agent, profile)

    def run(check: AgentCheck) -> None:
        pronounce(pytestconfig, judge_agent(check, bench))

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was seen of the facts."""
    if not config.stash.get(_begun, False):
        return
    chosen = config.stash[_settings]
    terminalreporter.section(f"live: {chosen}")
    for line in summary(chosen, config.stash[_findings]):
        terminalreporter.line(line)
    terminalreporter.line(f"report: {chosen.report}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, also of a run that was cut short, and let go of all connections."""
    config = session.config
    if _open in config.stash:
        config.stash[_open].close()
    if config.stash.get(_begun, False):
        chosen = config.stash[_settings]
        now = datetime.datetime.now(datetime.UTC)
        text = document(chosen, config.stash[_findings], verdicts(config), now)
        chosen.report.write_text(text, encoding="utf-8")
