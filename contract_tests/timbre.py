"""Whose voice it is: the average spectrum of a stretch of audio, and how far two of them are apart."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["changes_voice", "distance", "timbre"]

type Timbre = NDArray[np.float64]

_WINDOW = 2048
_BANDS = 64
_LOWEST_HZ = 80.0
_HIGHEST_HZ = 4000.0
_FLOOR_DB = -50.0
_STRETCHES = 3
_APART_DB = 3.0
"""Two voices closer than that cannot be told apart. Kokoro's af_heart and am_michael are 9 dB apart."""


def timbre(pcm: bytes, sample_rate: int) -> Timbre | None:
    """Return the level, in dB below the loudest, of bands about a semitone wide; None for too little or silent audio.

    ``pcm``: signed 16-bit little-endian mono at ``sample_rate`` Hz.
    """
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.float64)
    count = len(samples) // (_WINDOW // 2) - 1
    if count < 1 or not samples.any():
        return None
    frames = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[:: _WINDOW // 2]
    power = (np.abs(np.fft.rfft(frames * np.hanning(_WINDOW))) ** 2).mean(axis=0)
    hertz = np.fft.rfftfreq(_WINDOW, 1 / sample_rate)
    edges = np.geomspace(_LOWEST_HZ, min(_HIGHEST_HZ, sample_rate / 2), _BANDS + 1)
    band = np.searchsorted(edges, hertz)
    levels = np.array([power[band == number].sum() for number in range(1, _BANDS + 1)])
    # low bands are narrower than the bins of the spectrum: an empty one says nothing
    filled = levels > 0
    decibels = np.full(_BANDS, _FLOOR_DB)
    decibels[filled] = np.maximum(10 * np.log10(levels[filled] / levels.max()), _FLOOR_DB)
    return decibels


def distance(one: Timbre, other: Timbre) -> float:
    """Return how far two timbres are apart, in dB (root of the mean square)."""
    return float(np.sqrt(np.mean((one - other) ** 2)))


def changes_voice(heard: bytes, own: bytes, foreign: bytes, sample_rate: int) -> int | None:
    """Return the third (1 to 3) of ``heard`` that is closer to ``foreign`` than to ``own``, None if none is.

    All three are PCM of the same text. Where both voices sound much alike nothing can be said, and None is returned.
    """
    for number in range(_STRETCHES):
        spectra = [timbre(_third(pcm, number), sample_rate) for pcm in (heard, own, foreign)]
        mine, right, wrong = spectra
        if mine is None or right is None or wrong is None:
            continue
        apart = distance(right, wrong)
        if apart > _APART_DB and distance(mine, wrong) < 0.5 * distance(mine, right):
            return number + 1
    return None


def _third(pcm: bytes, number: int) -> bytes:
    samples = len(pcm) // 2
    return pcm[samples * number // _STRETCHES * 2 : samples * (number + 1) // _STRETCHES * 2]
