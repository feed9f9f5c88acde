"""Fault: scaled without clipping. Seen in https://github.com/festvox/flite/issues/124.

A model's samples can leave -1..1; cast without clipping, the loudest peaks come out at the other end of the range:
cracks.
"""

from contract_tests.good import protocol, tone
from contract_tests.good.speech import Session, speech_app

GAIN = 2.4  # a loud voice: the peaks reach 1.2


class WrappingSession(Session):
    """Session whose peaks wrap around."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return PCM scaled by 32768 and cast as it is."""
        samples = GAIN * tone.waveform(request.text, request.voice, request.rate, request.speed)
        return (samples * 32768).astype("<i4").astype("<i2").tobytes()


app = speech_app(WrappingSession)
