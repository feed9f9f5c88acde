"""Fault: the SDK's own events in the stream. Seen in https://github.com/strands-agents/harness-sdk/issues/1928."""

import json
import uuid

from contract_tests.agents.good.standin import Event, Standin, agent_app


class ReprEvents(Standin):
    """Turn that yields what it has at hand, and writes what is no JSON as bedrock-agentcore does."""

    def frame(self, event: Event) -> bytes:
        """Return an event of a framework: it carries an object that identifies its cycle."""
        raw = {**self.numbered(event), "event_loop_cycle_id": uuid.uuid4()}
        try:
            text = json.dumps(raw)
        except TypeError:
            text = json.dumps(str(raw))
        return f"data: {text}\n\n".encode()


app = agent_app(ReprEvents)
