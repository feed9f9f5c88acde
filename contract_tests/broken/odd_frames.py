"""Fault: PCM is cut at byte positions. Seen in https://github.com/NousResearch/hermes-agent/pull/70851.

4063 is odd, so every second frame begins in the middle of a sample: whoever plays them as they come hears noise, or
loses them to an exception.
"""

from collections.abc import Iterable

from contract_tests.good import tone
from contract_tests.good.speech import Session, speech_app

CHUNK_BYTES = 4063


class OddFramesSession(Session):
    """Session that counts bytes, not samples."""

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM wherever the buffer is full."""
        return tone.cut(pcm, CHUNK_BYTES)


app = speech_app(OddFramesSession)
