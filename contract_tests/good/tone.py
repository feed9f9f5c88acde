"""Stand-in for a voice: a sine as long as the text, ready at once and the same every time."""

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SECONDS_PER_CHARACTER = 0.02
SHORTEST_S = 0.25
RAMP_S = 0.01
PEAK = 0.5
LOWEST_HZ = 180.0


def waveform(text: str, voice: str, rate: int, speed: float = 1.0) -> NDArray[np.float64]:
    """Return mono samples in -1..1 for `text`, empty where it holds nothing to speak (no letter, no digit).

    The voice sets the pitch, so that two voices can be told apart. Both ends are ramped to zero, so that neighbouring
    utterances join without a step.
    """
    if not any(character.isalnum() for character in text):
        return np.zeros(0)
    seconds = max(SHORTEST_S, len(text) * SECONDS_PER_CHARACTER) / speed
    time = np.arange(round(seconds * rate)) / rate
    pitch = LOWEST_HZ * 2 ** (zlib.crc32(voice.encode()) % 12 / 12)
    ramp = np.clip(np.minimum(time, time[::-1]) / RAMP_S, 0, 1)
    return PEAK * np.sin(np.pi / 2 * ramp) ** 2 * np.sin(2 * np.pi * pitch * time)


def pcm16(samples: NDArray[np.float64]) -> bytes:
    """Return `samples` (-1..1) as signed 16-bit little-endian PCM, clipped before the cast so that nothing wraps."""
    return np.clip(np.rint(samples * 32767), -32768, 32767).astype("<i2").tobytes()


def cut(pcm: bytes, size: int) -> Iterator[bytes]:
    """Yield `pcm` in frames of `size` bytes; the last one is what is left."""
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]
