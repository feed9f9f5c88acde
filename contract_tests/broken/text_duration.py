"""Fault: the duration is a string. Seen in https://github.com/vllm-project/vllm/issues/49068.

Formatted for people and sent to programs: a typed client refuses the message, others compare "10.2" with 9.5.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class TextDurationSession(Session):
    """Session that formats its numbers."""

    async def control(self, event: protocol.Event) -> None:
        """Send one control event, the duration in quotes."""
        if "total_duration_s" in event:
            event = {**event, "total_duration_s": f"{event['total_duration_s']:.2f}"}
        await super().control(event)


app = speech_app(TextDurationSession)
