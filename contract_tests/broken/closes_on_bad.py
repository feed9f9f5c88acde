"""Fault: a bad message costs the session. Seen in https://github.com/coder/websocket/issues/399.

Polite, with a code and a reason (1003), and just as fatal: what the caller had queued behind the bad message is lost.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class ClosesOnBadSession(Session):
    """Session that hangs up on a text message that it does not understand."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message, or close."""
        if payload and isinstance(payload, str):
            try:
                protocol.parse(payload)
            except protocol.MessageError as problem:
                await self.ws.close(1003, str(problem)[:100])
                return False
        return await super().answer(payload)


app = speech_app(ClosesOnBadSession)
