"""From the model's 24 kHz to telephone and radio rates, over all sentences of one request without a seam."""

import math

import numpy as np
import numpy.typing as npt

from container.kokoro.pcm import MODEL_RATE, Samples

RATES = (8_000, 16_000, 22_050, 24_000)
_ZERO_CROSSINGS = 16
_KAISER_BETA = 8.0  # about 80 dB of stop band


class Resampler:
    """A windowed-sinc filter that remembers the end of what it has seen; one for each request."""

    def __init__(self, rate: int) -> None:
        divisor = math.gcd(rate, MODEL_RATE)
        self._up, self._down = rate // divisor, MODEL_RATE // divisor
        cutoff = rate / MODEL_RATE
        self._reach = math.ceil(_ZERO_CROSSINGS / cutoff)
        """Input samples on either side that one output sample is made of."""
        self._taps = self._filters(cutoff)
        self._held: npt.NDArray[np.float64] = np.zeros(self._reach)
        self._base = -self._reach
        """Index in the whole input of the first held sample."""
        self._taken = 0
        self._given = 0

    def _filters(self, cutoff: float) -> npt.NDArray[np.float64]:
        """Return one filter for each of the `up` positions an output sample can have between two input samples."""
        offsets = np.arange(-self._reach + 1, self._reach + 1)[None, :] - (np.arange(self._up) / self._up)[:, None]
        window = np.i0(_KAISER_BETA * np.sqrt(np.clip(1 - (offsets / self._reach) ** 2, 0, 1))) / np.i0(_KAISER_BETA)
        taps = np.sinc(offsets * cutoff) * window
        return np.asarray(taps / taps.sum(axis=1, keepdims=True))

    def feed(self, samples: Samples) -> Samples:
        """Take input (n,) and return the output that is certain by now."""
        self._taken += len(samples)
        self._held = np.concatenate([self._held, samples])
        return self._output((self._taken - self._reach) * self._up // self._down)

    def flush(self) -> Samples:
        """Return the rest; in all ceil(n * rate / 24000) samples were given."""
        self._held = np.concatenate([self._held, np.zeros(self._reach + 1)])
        return self._output(-(-self._taken * self._up // self._down))

    def _output(self, end: int) -> Samples:
        positions = np.arange(self._given, max(end, self._given)) * self._down
        if len(positions) == 0:
            return np.zeros(0, dtype=np.float32)
        first = positions // self._up - self._reach + 1 - self._base
        windows = np.lib.stride_tricks.sliding_window_view(self._held, 2 * self._reach)[first]
        output: Samples = np.einsum("ij,ij->i", windows, self._taps[positions % self._up]).astype(np.float32)
        self._given += len(positions)
        keep = self._given * self._down // self._up - self._reach + 1 - self._base
        self._held, self._base = self._held[keep:], self._base + keep
        return output
