"""Fault: a WAV header before each chunk. Seen in https://github.com/inworld-ai/inworld-api-examples/issues/21.

Each chunk went through an encoder that makes a file of it: 44 bytes of header are a click per chunk for whoever plays
raw PCM.
"""

import io
import wave
from collections.abc import Iterable

from contract_tests.good.speech import Session, speech_app

RATE = 24000


class WavHeaderSession(Session):
    """Session that sends one little WAV file per chunk."""

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM as usual and encode each piece by itself."""
        for frame in super().frames(pcm):
            encoded = io.BytesIO()
            with wave.open(encoded, "wb") as writer:
                writer.setparams((1, 2, RATE, 0, "NONE", "not compressed"))
                writer.writeframes(frame)
            yield encoded.getvalue()


app = speech_app(WavHeaderSession)
