"""Telling samples in the other byte order from samples that have lost a byte: read as they came, both are noise."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_swapped"]

_RUN = 512
"""Samples of one estimate; as many as a window of :mod:`contract_tests.audio`."""


def is_swapped(pcm: bytes, noisy: NDArray[np.bool_]) -> bool:
    """Tell whether PCM that is noise as it came is smooth because its bytes are swapped, and not moved by one.

    ``noisy`` marks the windows of 512 samples to look at. Three readings hold the same high bytes: swapped, and moved
    by one byte forth or back. Only in the right one each of them has its own low byte; in the others it has that of a
    neighbour, which is noise with an RMS of about 100. So the right reading is the one with the least energy at the top
    of the spectrum. A lost byte has the halves of neighbours in one sample, swapped samples never do.
    """
    windows = np.flatnonzero(noisy)
    readings = (("<i2", 1), (">i2", 0))
    moved, swapped = (_top_energy(pcm, kind, offset, windows) for kind, offset in readings)
    count = min(len(moved), len(swapped))
    return bool(count) and float(np.median(np.log(swapped[:count] / moved[:count]))) < 0


def _top_energy(pcm: bytes, kind: str, offset: int, windows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each window the mean square of its third difference: speech has little there, noise 20 times."""
    samples = np.frombuffer(pcm, dtype=kind, count=(len(pcm) - offset) // 2, offset=offset).astype(np.float64)
    whole = samples[: len(samples) // _RUN * _RUN].reshape(-1, _RUN)
    chosen = whole[windows[windows < len(whole)]]
    energy: NDArray[np.float64] = np.square(np.diff(chosen, n=3, axis=1)).mean(axis=1) + 1.0
    return energy
