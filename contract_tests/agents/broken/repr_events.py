"""Fault: the SDK's own events in the stream. Seen in https://github.com/strands-agents/harness-sdk/issues/1928."""

import json
import uuid
from collections.abc import AsyncGenerator

from contract_tests.agents.good.standin import Event, Standin, agent_app


class ReprEvents(Standin):
    """Turn that yields an event of a framework beside its own."""

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield what a framework says at the beginning of a cycle, then what happens."""
        yield {"type": "text", "event_loop_cycle_id": uuid.uuid4()}
        async for event in super().events(prompt):
            yield event

    def frame(self, event: Event) -> bytes:
        """Write what is no JSON as bedrock-agentcore does."""
        raw = self.numbered(event)
        try:
            text = json.dumps(raw)
        except TypeError:
            text = json.dumps(str(raw))
        return f"data: {text}\n\n".encode()


app = agent_app(ReprEvents)
