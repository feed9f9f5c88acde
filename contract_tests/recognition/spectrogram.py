"""What Whisper listens to: the log-mel spectrogram of 30 s of audio at 16 kHz.

The figures are those of the model's own front end (https://github.com/openai/whisper, whisper/audio.py).
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["MODEL_RATE", "WINDOW_S", "Samples", "log_mel", "resampled"]

type Samples = NDArray[np.float32]

MODEL_RATE = 16_000
WINDOW_S = 30
_FFT = 400
_HOP = 160
_BANDS = 80
_MODEL_FRAMES = WINDOW_S * MODEL_RATE // _HOP
_LINEAR_HZ = 200 / 3
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _LINEAR_HZ
_MELS_PER_E = 27 / np.log(6.4)


def resampled(samples: Samples, rate: int) -> Samples:
    """Return ``samples`` (n,), taken ``rate`` times a second, at the model's 16 kHz; what lies above 8 kHz is lost."""
    if rate == MODEL_RATE or not len(samples):
        return samples
    count = max(1, round(len(samples) * MODEL_RATE / rate))
    spectrum = np.fft.rfft(samples)
    wanted = np.zeros(count // 2 + 1, dtype=spectrum.dtype)
    kept = min(len(spectrum), len(wanted))
    wanted[:kept] = spectrum[:kept]
    return (np.fft.irfft(wanted, count) * (count / len(samples))).astype(np.float32)


def log_mel(samples: Samples) -> NDArray[np.float32]:
    """Return the features (80, 3000) of at most 30 s of samples in -1..1 at 16 kHz; what is missing is silence."""
    padded = np.zeros(WINDOW_S * MODEL_RATE, dtype=np.float32)
    padded[: len(samples)] = samples[: len(padded)]
    padded = np.pad(padded, _FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::_HOP][:_MODEL_FRAMES]
    hann = np.hanning(_FFT + 1)[:-1].astype(np.float32)
    power = np.abs(np.fft.rfft(frames * hann)) ** 2
    decades = np.log10(np.maximum(_filters() @ power.T, 1e-10))
    features: NDArray[np.float32] = ((np.maximum(decades, decades.max() - 8) + 4) / 4).astype(np.float32)
    return np.ascontiguousarray(features)


@cache
def _filters() -> NDArray[np.float64]:
    """Return 80 triangles (80, 201) on the mel scale of Slaney, each of unit area."""
    hertz = np.fft.rfftfreq(_FFT, 1 / MODEL_RATE)
    edges = _to_hertz(np.linspace(0, _to_mel(MODEL_RATE / 2), _BANDS + 2))
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.maximum(0, np.minimum((hertz - low) / (centre - low), (high - hertz) / (high - centre)))
    return triangles * (2 / (high - low))


def _to_mel(hertz: float) -> float:
    return float(_KNEE_MEL + np.log(hertz / _KNEE_HZ) * _MELS_PER_E)  # above the knee; nothing else is asked for


def _to_hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < _KNEE_MEL, mel * _LINEAR_HZ, _KNEE_HZ * np.exp((mel - _KNEE_MEL) / _MELS_PER_E))
