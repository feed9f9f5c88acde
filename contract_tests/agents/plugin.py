"""The part of the pytest plugin that judges agents: ``--target agent`` and ``--target agent:WHAT``."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import pytest

from contract_tests.agents.bench import AgentBench, agent_bench
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.profile import AgentProfile, load_agent_profile
from contract_tests.agents.runner import judge_agent
from contract_tests.agents.target import AgentTarget
from emulator.agentcore.start import AgentStartError, agent_command
from emulator.launch import TargetError
from emulator.sigterm import ended_by_sigterm
from emulator.target import Target

__all__ = ["judge_agents"]

_agent = pytest.StashKey[AgentTarget]()
_profile = pytest.StashKey[AgentProfile]()


def judge_agents(config: pytest.Config, target: AgentTarget, profile: str | None) -> str:
    """Let the run judge an agent; returns the name of the profile.

    Raises:
        pytest.UsageError: what is needed for that is not installed.
        ProfileError: the profile cannot be used.
    """
    if find_spec("boto3") is None:
        raise pytest.UsageError("to call an agent needs boto3: install it, or the extra 'agent' of this project")
    rules = load_agent_profile(profile or target.profile)
    config.stash[_agent], config.stash[_profile] = target, rules
    return rules.name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the checks of containers where an agent is judged, and those of agents where a container is."""
    unwanted = "contract_judge" if _agent in config.stash else "agent_judge"
    out = [item for item in items if unwanted in getattr(item, "fixturenames", ())]
    if out:
        items[:] = [item for item in items if item not in set(out)]
        config.hook.pytest_deselected(items=out)


@pytest.fixture(scope="module")
def contract_agent(pytestconfig: pytest.Config) -> Iterator[AgentBench]:
    """Start the agent and what is around it."""
    from contract_tests.plugin import tell  # noqa: PLC0415 - it imports this module

    chosen = pytestconfig.stash[_agent]
    said = f"{chosen} is started"
    try:
        with (
            ended_by_sigterm(),
            agent_bench(
                chosen.given, pytestconfig.stash[_profile], lambda _: partial(tell, pytestconfig)(said)
            ) as bench,
        ):
            yield bench
    except AgentStartError as error:
        if agent_command(chosen.given) is None:
            target, advice = Target("url", chosen.given), "start the agent first, and check host and port."
        else:
            target = Target("command", chosen.name)
            advice = "start it by hand in the same way, and look at what it says."
        raise TargetError(target, str(error), advice) from error


@pytest.fixture
def agent_judge(contract_agent: AgentBench, pytestconfig: pytest.Config) -> Callable[[AgentCheck], None]:
    """Return what runs one check on the agent of the run and raises its verdict."""
    from contract_tests.plugin import pronounce  # noqa: PLC0415 - it imports this module

    def run(check: AgentCheck) -> None:
        pronounce(pytestconfig, judge_agent(check, contract_agent))

    return run
