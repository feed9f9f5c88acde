"""Fault: big-endian samples. Seen in https://github.com/elevenlabs/elevenlabs-python/issues/735.

Every length is right, and what is played is noise at full volume: as after a lost byte, but no byte is lost.
"""

import numpy as np

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class BigEndianSession(Session):
    """Session whose samples are in network byte order."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return PCM with the two bytes of each sample swapped."""
        return np.frombuffer(await super().synthesise(request), "<i2").astype(">i2").tobytes()


app = speech_app(BigEndianSession)
