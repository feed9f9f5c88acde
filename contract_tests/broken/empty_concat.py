"""Fault: joins chunks that are not there. Seen in https://github.com/QwenAudio/CosyVoice/pull/62.

The phonemiser leaves nothing of the text, so there is no chunk; taking the first one raises, the exception leaves the
handler, and a line of dots ends the conversation without a Close frame.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class EmptyConcatSession(Session):
    """Session that never met a text without a sound."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Join the chunks, the first one first."""
        pcm = await super().synthesise(request)
        first, *rest = [pcm] if pcm else []
        return first + b"".join(rest)


app = speech_app(EmptyConcatSession)
