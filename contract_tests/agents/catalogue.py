"""The checks of agents, in the order in which they run."""

from contract_tests.agents.check import AgentCheck
from contract_tests.agents.checks.life_cycle import LifeCycle
from contract_tests.agents.checks.splitter import Splitter
from contract_tests.agents.checks.sse_safe import SseSafe

__all__ = ["AGENT_CHECKS"]

AGENT_CHECKS: tuple[AgentCheck, ...] = (SseSafe(), Splitter(), LifeCycle())
