"""PCM to what could be sent in its place, and back. MP3 and AAC need PyAV (the extra 'codecs')."""

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CODECS", "RATE", "Codec", "Piece", "are_available"]

RATE = 24_000
"""Samples per second of 16-bit little-endian mono."""
_PIECE = RATE  # bytes: 0.5 s, what an event of the agent carries
_AAC_RATE_INDEX = 6  # of 24 kHz, ISO 14496-3
_ADTS = 7  # bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """What is sent at once, and the sizes of the units in it that a receiver needs whole: samples, frames."""

    data: bytes
    units: Sequence[int]


@dataclass(frozen=True, slots=True)
class Codec:
    """A way to send speech: PCM to pieces, and all of their bytes to PCM."""

    name: str
    encode: Callable[[bytes], list[Piece]]
    decode: Callable[[bytes], bytes]


def are_available() -> bool:
    """Say whether MP3 and AAC can be made here."""
    return importlib.util.find_spec("av") is not None


def _pieces(pcm: bytes) -> list[bytes]:
    return [pcm[at : at + _PIECE] for at in range(0, len(pcm), _PIECE)]


def _pcm(pcm: bytes) -> list[Piece]:
    return [Piece(piece, [2] * (len(piece) // 2)) for piece in _pieces(pcm)]


def _encoder(name: str, kbit_s: int, framed: Callable[[bytes], bytes]) -> Callable[[bytes], list[Piece]]:
    def encode(pcm: bytes) -> list[Piece]:
        av: Any = importlib.import_module("av")
        numpy: Any = importlib.import_module("numpy")
        codec = av.CodecContext.create(name, "w")
        codec.sample_rate, codec.bit_rate, codec.layout = RATE, kbit_s * 1000, "mono"
        codec.format = codec.codec.audio_formats[0]
        units = []
        for piece in _pieces(pcm):
            samples = numpy.frombuffer(piece, dtype="<i2").reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate = RATE
            units.append([framed(bytes(packet)) for packet in codec.encode(frame)])
        units.append([framed(bytes(packet)) for packet in codec.encode(None)])
        return [Piece(b"".join(each), [len(unit) for unit in each]) for each in units if each]

    return encode


def _adts(packet: bytes) -> bytes:
    """Put the header of ISO 13818-7 before a frame of AAC-LC, mono."""
    size = len(packet) + _ADTS
    header = 0
    # sync word; MPEG-4, no CRC; profile; rate; private; channels; four flags; size; variable rate; one frame
    for value, bits in (
        (0xFFF, 12), (0b0001, 4), (1, 2), (_AAC_RATE_INDEX, 4), (0, 1), (1, 3), (0, 4), (size, 13), (0x7FF, 11), (0, 2)
    ):  # fmt: skip
        header = header << bits | value
    return header.to_bytes(_ADTS, "big") + packet


def _decoder(container: str) -> Callable[[bytes], bytes]:
    def decode(data: bytes) -> bytes:
        av: Any = importlib.import_module("av")
        file = importlib.import_module("io").BytesIO(data)
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        with av.open(file, format=container) as opened:
            frames = [made for frame in opened.decode(audio=0) for made in resampler.resample(frame)]
        return b"".join(frame.to_ndarray().tobytes() for frame in frames)

    return decode


CODECS: Sequence[Codec] = (
    Codec("PCM16", _pcm, bytes),
    Codec("MP3, 48 kbit/s", _encoder("libmp3lame", 48, bytes), _decoder("mp3")),
    Codec("AAC, 32 kbit/s, ADTS", _encoder("aac", 32, _adts), _decoder("aac")),
)
"""Rates as in the published comparison."""
