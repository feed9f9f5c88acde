"""Clicks where two frames meet: a step at the joint that the signal makes nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Joint", "worst_joint"]

_TIMES = 1.5
"""How much larger than any step inside a frame. Kokoro's own joints reach 0.3 of its largest inner step."""
_AUDIBLE = 1500
"""A step below that, of 32768, is no click."""


@dataclass(frozen=True, slots=True)
class Joint:
    """The joint before frame number ``frame`` (counted from 1): its step, and the largest inside a frame, of 32768."""

    frame: int
    step: int
    inner: int


def worst_joint(frames: Sequence[bytes]) -> Joint | None:
    """Return the joint that clicks most, None if none does. ``frames``: PCM, signed 16-bit little-endian, mono."""
    pcm = b"".join(frames)
    samples = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2").astype(np.int32)
    ends = np.cumsum([len(frame) for frame in frames]) // 2
    joints = ends[:-1][(ends[:-1] > 0) & (ends[:-1] < len(samples))]
    if not len(joints):
        return None
    steps = np.abs(np.diff(samples))
    at_joint = steps[joints - 1]
    inner = int(np.delete(steps, joints - 1).max(initial=0))
    worst = int(at_joint.argmax())
    step = int(at_joint[worst])
    if step <= max(_TIMES * inner, _AUDIBLE):
        return None
    return Joint(int(np.searchsorted(ends, joints[worst])) + 2, step, inner)
