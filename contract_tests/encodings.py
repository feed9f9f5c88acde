"""Telling an audio file or an MP3 stream from raw PCM by its first bytes."""

from typing import Literal

type Encoding = Literal["WAV", "MP3", "Ogg", "FLAC"]

_MPEG1_LAYER3_KBIT = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_LAYER3_KBIT = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MPEG1_RATES = (44100, 48000, 32000)
_MP3_FRAMES = 3
"""Headers in a row that must fit: one sync word is the ordinary sample -1025, three at the right places are not."""


def encoding_of(frame: bytes) -> Encoding | None:
    """Return what `frame` begins like, None if nothing speaks against raw PCM."""
    if frame.startswith(b"RIFF"):
        return "WAV"
    if frame.startswith(b"OggS"):
        return "Ogg"
    if frame.startswith(b"fLaC"):
        return "FLAC"
    if (frame.startswith(b"ID3") and frame[3:4] in {b"\2", b"\3", b"\4"}) or _is_mp3(frame):
        return "MP3"
    return None


def _is_mp3(frame: bytes) -> bool:
    """Follow the lengths from one MP3 header to the next; the frame must hold the whole chain."""
    position = 0
    for _ in range(_MP3_FRAMES):
        length = _mp3_frame_bytes(frame[position : position + 4])
        if length is None:
            return False
        position += length
    return True


def _mp3_frame_bytes(header: bytes) -> int | None:
    """Return the length of the MPEG layer 3 frame with this header, None if it is none."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:  # sync, layer 3
        return None
    version = header[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    bitrate, rate = header[2] >> 4, header[2] >> 2 & 3
    if version == 1 or bitrate in {0, 15} or rate == 3:
        return None
    hertz = _MPEG1_RATES[rate] >> {3: 0, 2: 1, 0: 2}[version]
    kbit = (_MPEG1_LAYER3_KBIT if version == 3 else _MPEG2_LAYER3_KBIT)[bitrate]
    return (144 if version == 3 else 72) * kbit * 1000 // hertz + (header[2] >> 1 & 1)
