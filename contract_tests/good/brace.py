"""Good container whose every PCM frame begins with the byte `{`.

It looks like JSON to whoever reads only the first byte. The low byte of a frame's first sample is set to 0x7b, which
moves that sample by less than 256 of 32768: inaudible. A payload is control only if the whole of it parses as a JSON
object, so all of these frames must stay audio.
"""

from collections.abc import Iterable

from contract_tests.good.speech import Session, speech_app


class BraceSession(Session):
    """Session whose audio looks like JSON at its first byte."""

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM as usual and put a brace in front of every frame."""
        return (b"{" + frame[1:] for frame in super().frames(pcm))


app = speech_app(BraceSession)
