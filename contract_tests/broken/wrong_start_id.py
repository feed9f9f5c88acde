"""Fault: the start names another request. Seen in https://github.com/pipecat-ai/pipecat/pull/4497.

The id is kept where the next request overwrites it, and read before it does: the start carries the id of the request
before, on a new session a default. A client that sorts audio by the id of the start drops it.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class WrongStartIdSession(Session):
    """Session that remembers ids one request too late."""

    current: str = "unknown"

    async def control(self, event: protocol.Event) -> None:
        """Send one control event, the start under the id that is remembered."""
        if event["type"] == "synthesis_start":
            event, self.current = {**event, "request_id": self.current}, event["request_id"]
        await super().control(event)


app = speech_app(WrongStartIdSession)
