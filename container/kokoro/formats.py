"""What the audio of an HTTP answer is wrapped in: bare PCM, WAV, or MP3 (with the extra 'mp3')."""

import importlib
import importlib.util
from typing import Any, Protocol

from container.kokoro import pcm

NAMES = ("pcm", "wav", "mp3")
_MP3_KBIT_S = 64
_MP3_QUALITY = 5  # 2 is the best and slowest, 7 the fastest


class Encoder(Protocol):
    """Turns PCM16 frames into the bytes of one answer, as they come."""

    media_type: str

    def begin(self, size: int | None = None) -> bytes:
        """Return what comes before the audio; `size` is the number of PCM bytes where it is known already."""
        ...

    def feed(self, frame: bytes) -> bytes:
        """Return the bytes for one PCM frame, possibly none yet."""
        ...

    def end(self) -> bytes:
        """Return what is left."""
        ...


def is_available(name: str) -> bool:
    """Say whether this format can be made here."""
    return name != "mp3" or importlib.util.find_spec("lameenc") is not None


def encoder(name: str, rate: int) -> Encoder:
    """Return a new encoder for one answer of PCM16 mono at `rate` Hz."""
    return _Mp3(rate) if name == "mp3" else _Pcm(rate, header=name == "wav")


class _Pcm:
    def __init__(self, rate: int, *, header: bool) -> None:
        self._rate = rate
        self._header = header
        # not audio/L16, which is big-endian by definition
        self.media_type = "audio/wav" if header else f"audio/pcm;rate={rate};channels=1"

    def begin(self, size: int | None = None) -> bytes:
        return pcm.wav_header(self._rate, size) if self._header else b""

    def feed(self, frame: bytes) -> bytes:
        return frame

    def end(self) -> bytes:
        return b""


class _Mp3:
    """LAME, LGPL, as a shared library in a package of its own."""

    media_type = "audio/mpeg"

    def __init__(self, rate: int) -> None:
        self._lame: Any = importlib.import_module("lameenc").Encoder()
        self._lame.set_bit_rate(_MP3_KBIT_S)
        self._lame.set_in_sample_rate(rate)
        self._lame.set_channels(1)
        self._lame.set_quality(_MP3_QUALITY)
        self._lame.silence()
        self._fed = False

    def begin(self, size: int | None = None) -> bytes:
        del size
        return b""

    def feed(self, frame: bytes) -> bytes:
        self._fed = True
        return bytes(self._lame.encode(frame))

    def end(self) -> bytes:
        # it holds back up to half a second, all of a short text; without any audio it fails
        return bytes(self._lame.flush()) if self._fed else b""
