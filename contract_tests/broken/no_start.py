"""Fault: no start. Seen in https://github.com/openai/openai-agents-js/issues/235.

The protocol has the event, the documentation has it, and nobody sends it: clients that open their player at the start
play nothing.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class NoStartSession(Session):
    """Session that begins with the audio."""

    async def control(self, event: protocol.Event) -> None:
        """Send one control event, unless it is the start."""
        if event["type"] != "synthesis_start":
            await super().control(event)


app = speech_app(NoStartSession)
