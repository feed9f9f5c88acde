"""What the audio of a protocol is, and where in its messages: what comes is turned into PCM16 that can be judged."""

import base64
import binascii
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from contract_tests.mark import Mark

__all__ = ["ENCODINGS", "AudioFormat", "Encoding", "UndecodableError"]

Encoding = Literal["pcm16", "pcm16be", "mulaw"]
ENCODINGS: tuple[str, ...] = get_args(Encoding)

_WORDS = {
    "pcm16": "signed 16-bit little-endian mono PCM",
    "pcm16be": "signed 16-bit big-endian mono PCM",
    "mulaw": "mono G.711 mu-law",
}


class UndecodableError(ValueError):
    """Raised for a message that should carry audio in base64 and does not; says what stands there."""


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Mono audio at ``sample_rate`` samples per second, in BINARY frames or in base64 inside JSON messages.

    ``duration_member`` names the member of the end message that declares the seconds of audio, None if none does.
    ``event`` recognises the messages that carry audio, in their member ``member`` (``a.b``: b inside a); None where it
    comes in BINARY frames. ``language``: what is spoken, as two letters; None where the audio may be anything.
    """

    sample_rate: int
    duration_member: str | None
    encoding: Encoding = "pcm16"
    event: Mark | None = None
    member: str = ""
    language: str | None = None

    def __str__(self) -> str:
        where = f", in base64 as {self.member!r} of {self.event}" if self.event else ""
        return f"{_WORDS[self.encoding]} at {self.sample_rate} Hz{where}"

    def pcm16(self, data: bytes) -> bytes:
        """Return audio as signed 16-bit little-endian PCM; half a sample at the end stays half a sample."""
        if self.encoding == "mulaw":
            return _MULAW[np.frombuffer(data, np.uint8)].tobytes()
        if self.encoding == "pcm16be":
            whole = len(data) // 2 * 2
            return np.frombuffer(data[:whole], ">i2").astype("<i2").tobytes() + data[whole:]
        return data

    def on_the_wire(self, pcm_bytes: int) -> int:
        """Return how many bytes of a message so many bytes of :meth:`pcm16` were, without the JSON around them."""
        size = pcm_bytes // 2 if self.encoding == "mulaw" else pcm_bytes
        return size if self.event is None else -(-size // 3) * 4

    def carried_by(self, body: object, request_id: str) -> bytes | None:
        """Return the audio that a JSON message carries as PCM16, None if it is another kind of message.

        Raises:
            UndecodableError: it should carry some, but holds no base64.
        """
        if self.event is None or not self.event.matches(body, request_id):
            return None
        value: object = body
        for key in self.member.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, str):
            raise UndecodableError(f"{self.member!r} is {_shown(value)}, which is no text")
        try:
            return self.pcm16(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError) as problem:
            raise UndecodableError(f"{self.member!r} is no base64 ({problem}): {_shown(value)}") from None


def _shown(value: object) -> str:
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _mulaw_table() -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Return the sample of each of the 256 codes (ITU-T G.711, table 2a)."""
    codes = ~np.arange(256, dtype=np.int32) & 0xFF
    size = (((codes & 0x0F) << 3) + 0x84 << (codes >> 4 & 7)) - 0x84
    return np.where(codes & 0x80, -size, size).astype("<i2")


_MULAW = _mulaw_table()
