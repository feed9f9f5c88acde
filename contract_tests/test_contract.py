"""The contract run: ``pytest -m contract [--target ...]``, one test per check."""

from collections.abc import Callable

import pytest

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.agents.check import AgentCheck
from contract_tests.catalogue import CHECKS
from contract_tests.check import Check


@pytest.mark.contract
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.id}-{check.name}")
def test_contract(check: Check, contract_judge: Callable[[Check], None]) -> None:
    contract_judge(check)


@pytest.mark.contract
@pytest.mark.parametrize("check", AGENT_CHECKS, ids=lambda check: f"{check.id}-{check.name}")
def test_agent(check: AgentCheck, agent_judge: Callable[[AgentCheck], None]) -> None:
    agent_judge(check)
