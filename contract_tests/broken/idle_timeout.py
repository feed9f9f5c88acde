"""Fault: an idle timer. Seen in https://github.com/livekit/agents/pull/2630 (a provider that hangs up after 60 s).

The caller listens to the answer, thinks, and comes back to a closed socket: between two turns of a conversation nothing
is sent for a minute or more, and that is normal. Shortened here, so that the check need not wait a minute.
"""

import asyncio

from contract_tests.good.speech import Session, speech_app

PATIENCE_S = 1.5


class IdleTimeoutSession(Session):
    """Session that takes a pause for the end."""

    async def converse(self) -> None:
        """Answer messages as long as they come without a pause."""
        while True:
            try:
                payload = await asyncio.wait_for(self.receive(), PATIENCE_S)
            except TimeoutError:
                await self.close()
                return
            if not await self.answer(payload):
                return


app = speech_app(IdleTimeoutSession)
