"""Fault: what ends without a full stop is never spoken. Seen in https://github.com/pipecat-ai/pipecat/pull/250."""

from contract_tests.agents.good.splitter import Splitter
from contract_tests.agents.good.standin import Standin, agent_app


class ForgetfulSplitter(Splitter):
    """Waits for the white space behind a mark, also where nothing comes any more."""

    def flush(self) -> list[str]:
        """Give what ends like a sentence, and drop the rest."""
        return [rest for rest in super().flush() if rest[-1] in ".!?"]


class ForgetsTail(Standin):
    """Turn whose last words are lost."""

    def splitter(self) -> Splitter:
        """Return what cuts the answer of this turn."""
        return ForgetfulSplitter()


app = agent_app(ForgetsTail)
