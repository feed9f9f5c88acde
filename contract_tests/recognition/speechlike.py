"""What is certainly no speech, told without a recogniser: silence, and sound of an even level."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["unlike_speech"]

_FRAME_S = 0.02
_AUDIBLE = 50.0
_HEARD = 0.1
_EVEN = 0.2
"""Spread of the level over its mean. Speech has 0.5 and more, from one syllable to the next; a tone or noise 0.1."""


def unlike_speech(pcm: NDArray[np.int16], rate: int) -> str | None:
    """Return why the samples (n,), ``rate`` a second, cannot be speech; None if they may be."""
    size = max(1, round(_FRAME_S * rate))
    frames = pcm[: len(pcm) // size * size].astype(np.float64).reshape(-1, size)
    levels = np.sqrt(np.square(frames).mean(axis=1))
    loud = levels[levels > _HEARD * levels.max(initial=0.0)]
    if not len(loud) or loud.max() < _AUDIBLE:
        return "the audio is silent: nothing to recognise"
    if loud.std() < _EVEN * loud.mean():
        return "the audio is a sound of an even level, a tone or noise and no voice: nothing to recognise"
    return None
