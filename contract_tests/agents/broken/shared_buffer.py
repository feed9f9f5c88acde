"""Fault: one splitter for all turns. Seen in https://github.com/pipecat-ai/pipecat/issues/5341."""

from contract_tests.agents.good.splitter import Splitter
from contract_tests.agents.good.standin import Standin, agent_app

SPLITTER = Splitter()


class SharedBuffer(Standin):
    """Turn that begins with the rest of the one before."""

    def splitter(self) -> Splitter:
        """Return the splitter of the module."""
        return SPLITTER


app = agent_app(SharedBuffer)
