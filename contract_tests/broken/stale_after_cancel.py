"""Fault: the cancelled sentence goes on. Seen in https://github.com/pipecat-ai/pipecat/pull/4099.

The cancel message is acknowledged at once, but what is already in the pipeline comes out all the same.
"""

from typing import Any

from contract_tests.good.cancelling import CancellingSession
from contract_tests.good.speech import speech_app


class StaleSession(CancellingSession):
    """Session that promises to stop."""

    async def cancel(self, request_id: Any) -> None:
        """Acknowledge, and leave it at that."""
        await self.acknowledge(request_id)


app = speech_app(StaleSession)
