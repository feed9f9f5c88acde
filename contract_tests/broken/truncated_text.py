"""Fault: a long text is cut. Seen in https://github.com/Lyrcaxis/KokoroSharp/issues/9.

The model takes so much and no more; the rest is dropped, and the answer is complete all the same.
"""

from dataclasses import replace

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

MODEL_TAKES = 500


class TruncatedTextSession(Session):
    """Session that speaks the beginning of a text."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Speak what fits into one call."""
        return await super().synthesise(replace(request, text=request.text[:MODEL_TAKES]))


app = speech_app(TruncatedTextSession)
