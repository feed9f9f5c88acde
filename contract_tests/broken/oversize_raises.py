"""Fault: raises on a large message. Seen in https://github.com/websockets/ws/issues/1543.

The limit is there, but what enforces it is an exception that nobody catches: the caller learns nothing of the limit,
only that the connection is gone.
"""

from contract_tests.good.speech import Session, speech_app

LIMIT = 1 << 20


class OversizeRaisesSession(Session):
    """Session that is sure never to get so much."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message of a size that was thought of."""
        if len(payload) > LIMIT:
            raise OverflowError(f"{len(payload)} bytes")
        return await super().answer(payload)


app = speech_app(OversizeRaisesSession)
