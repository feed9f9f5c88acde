"""Fault: separators go out as they are. Seen in https://github.com/langgenius/dify/pull/39008."""

import json

from contract_tests.agents.good.standin import Event, Standin, agent_app


class RawSeparators(Standin):
    """Turn whose events are written to be read by people."""

    def frame(self, event: Event) -> bytes:
        """Return an event with all characters as they are."""
        return f"data: {json.dumps(self.numbered(event), ensure_ascii=False)}\n\n".encode()


app = agent_app(RawSeparators)
