"""The checks of agents against the deployed runtime: the same ones as ``contract check agent``, through boto3."""

from collections.abc import Callable

import pytest

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.agents.check import AgentCheck

pytestmark = pytest.mark.live


@pytest.mark.parametrize("check", AGENT_CHECKS, ids=lambda check: f"{check.id}-{check.name}")
def test_agent_contract(check: AgentCheck, live_agent_judge: Callable[[AgentCheck], None]) -> None:
    live_agent_judge(check)
