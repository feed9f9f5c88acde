"""What a check of an agent is."""

from abc import abstractmethod

from contract_tests.agents.bench import AgentBench
from contract_tests.check import Claim, Outcome

__all__ = ["AgentCheck"]


class AgentCheck(Claim):
    """One class of bug in an agent. Subclasses stand in ``contract_tests/agents/checks/``, one file each."""

    @abstractmethod
    def run(self, bench: AgentBench) -> Outcome:
        """Take turns with the agent and return what was found. Every wait in it is bounded."""
