"""Fault: bytes are decoded outside the try. Seen in https://github.com/Kludex/starlette/pull/3552.

Whatever is no JSON is answered with an error, in both kinds of frames; bytes that are no text raise before that.
"""

from contract_tests.good.speech import Session, speech_app


class UndecodedSession(Session):
    """Session that takes all bytes for UTF-8."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; the line that can raise stands before the try."""
        return await super().answer(payload if isinstance(payload, str) else payload.decode())


app = speech_app(UndecodedSession)
