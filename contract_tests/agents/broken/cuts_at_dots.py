"""Fault: a sentence ends at every full stop. Seen in https://github.com/pipecat-ai/pipecat/issues/1756."""

from contract_tests.agents.good.splitter import Splitter
from contract_tests.agents.good.standin import Standin, agent_app


class DotSplitter(Splitter):
    """Looks at no character but the last."""

    def feed(self, delta: str) -> list[str]:
        """Cut behind each mark."""
        done = []
        for character in delta:
            self.buffer += character
            if character in ".!?":
                done += self.flush()
        return done


class CutsAtDots(Standin):
    """Turn that reads half a price."""

    def splitter(self) -> Splitter:
        """Return what cuts the answer of this turn."""
        return DotSplitter()


app = agent_app(CutsAtDots)
