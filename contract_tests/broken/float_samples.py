"""Fault: 32-bit floats in the place of 16-bit samples. Seen in https://github.com/andimarafioti/faster-qwen3-tts/pull/72.

The model returns floats, and `tobytes()` sends them as they are: twice the bytes, and noise when they are played.
"""

import numpy as np

from contract_tests.good import protocol, tone
from contract_tests.good.speech import Session, speech_app


class FloatSamplesSession(Session):
    """Session that forgot the cast."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return the samples of one request as the model made them."""
        return tone.waveform(request.text, request.voice, request.rate, request.speed).astype(np.float32).tobytes()


app = speech_app(FloatSamplesSession)
