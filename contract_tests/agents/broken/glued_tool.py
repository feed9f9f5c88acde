"""Fault: the texts before and behind a tool grow together. Seen in https://github.com/livekit/agents/issues/3798."""

from collections.abc import AsyncGenerator

from contract_tests.agents.good.standin import Standin, agent_app


class GluedTool(Standin):
    """Turn that flushes at its end only."""

    async def sentences(self, prompt: str) -> AsyncGenerator[str]:
        """Yield sentences; the end of a message says nothing."""
        splitter = self.splitter()
        async for delta in self.deltas(prompt):
            for sentence in splitter.feed(delta or ""):
                yield sentence
        for sentence in splitter.flush():
            yield sentence


app = agent_app(GluedTool)
