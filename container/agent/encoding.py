"""The audio of one sentence, as an answer carries it: PCM as it comes, or MP3."""

import importlib
import importlib.util
from typing import Any, Literal, Protocol

__all__ = ["FORMATS", "KBIT_S", "Encoder", "Format", "encoder", "is_available"]

Format = Literal["pcm16", "mp3"]
FORMATS: tuple[Format, ...] = ("pcm16", "mp3")

KBIT_S = 48
"""Of MP3, as in AWS's sample: an eighth of PCM."""
_QUALITY = 5  # 2 is the best and slowest, 7 the fastest


class Encoder(Protocol):
    """Turns signed 16-bit little-endian mono samples into bytes of a format, in pieces.

    The pieces in order are one stream; a sentence has an encoder of its own, so that it is heard to its end at its end.
    """

    def feed(self, pcm: bytes) -> bytes:
        """Return the bytes for whole samples, perhaps none yet."""

    def end(self) -> bytes:
        """Return what was held back."""


def is_available(name: Format) -> bool:
    """Say whether a format can be made here: MP3 needs the extra 'mp3', LAME under the LGPL."""
    return name != "mp3" or importlib.util.find_spec("lameenc") is not None


def encoder(name: Format, rate: int) -> Encoder:
    """Return an encoder for one sentence; `rate` is in samples per second."""
    return _Mp3(rate) if name == "mp3" else _Pcm()


class _Pcm:
    def feed(self, pcm: bytes) -> bytes:
        return pcm

    def end(self) -> bytes:
        return b""


class _Mp3:
    """Bare frames without a header, which any part of can be played. It holds back less than 0.2 s."""

    def __init__(self, rate: int) -> None:
        self._lame: Any = importlib.import_module("lameenc").Encoder()
        self._lame.set_bit_rate(KBIT_S)
        self._lame.set_in_sample_rate(rate)
        self._lame.set_channels(1)
        self._lame.set_quality(_QUALITY)
        self._lame.silence()
        self._fed = False

    def feed(self, pcm: bytes) -> bytes:
        self._fed = True
        return bytes(self._lame.encode(pcm))

    def end(self) -> bytes:
        return bytes(self._lame.flush()) if self._fed else b""  # LAME refuses to end what never began
