"""Fault: PCM moved by one byte. Seen in https://github.com/OHF-Voice/piper1-gpl/issues/253.

Half a sample is lost (there: half a sample too much of silence). The end is padded, so that every length still looks
right, and every sample is made of the halves of two neighbours: noise at full volume.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class ByteShiftSession(Session):
    """Session that skips one byte too many."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return PCM of the right length whose first byte is missing."""
        pcm = await super().synthesise(request)
        return (pcm[1:] + b"\0") if pcm else pcm


app = speech_app(ByteShiftSession)
