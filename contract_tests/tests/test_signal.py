"""Joints and timbre: measured on made signals."""

import numpy as np
import pytest

from contract_tests.good import tone
from contract_tests.joints import worst_joint
from contract_tests.timbre import changes_voice, distance, timbre

RATE = 24000


def voice(hertz: float, seconds: float = 1.5, seed: int = 1) -> bytes:
    """Return a buzz with overtones that fall off, and a little noise."""
    time = np.arange(round(seconds * RATE)) / RATE
    noise = np.random.default_rng(seed).normal(0, 0.002, len(time))
    partials = sum(np.sin(2 * np.pi * hertz * number * time) / number for number in range(1, 12))
    return tone.pcm16(0.2 * np.asarray(partials) + noise)


def frames(pcm: bytes, size: int = 4800) -> list[bytes]:
    return list(tone.cut(pcm, size))


def test_a_whole_signal_has_no_bad_joint() -> None:
    assert worst_joint(frames(voice(150))) is None


def test_a_jump_between_two_frames_is_found() -> None:
    pieces = frames(tone.pcm16(0.5 * np.sin(2 * np.pi * 155 * np.arange(RATE) / RATE)))
    pieces[3] = pieces[3][400:]  # samples that were lost
    joint = worst_joint(pieces)
    assert joint is not None
    assert joint.frame == 4
    assert joint.step > 3 * joint.inner


@pytest.mark.parametrize("pieces", [[], [b""], [b"\0\0"], [b"\0"], [b"\0\0\0", b"\0"], [b"", b"\0\0", b""]])
def test_too_little_for_a_joint(pieces: list[bytes]) -> None:
    assert worst_joint(pieces) is None


def test_timbre_tells_voices_apart() -> None:
    high, again, low = (timbre(pcm, RATE) for pcm in (voice(210), voice(210, seed=2), voice(110)))
    assert high is not None
    assert again is not None
    assert low is not None
    assert distance(high, again) < 1
    assert distance(high, low) > 5


@pytest.mark.parametrize("pcm", [b"", bytes(2000), bytes(20_000), b"\1"])
def test_nothing_to_hear_has_no_timbre(pcm: bytes) -> None:
    assert timbre(pcm, RATE) is None


def test_a_voice_that_changes_is_found_where_it_changes() -> None:
    own, foreign = voice(210), voice(110)
    third = len(own) // 3 // 2 * 2
    assert changes_voice(voice(210, seed=2), own, foreign, RATE) is None
    assert changes_voice(own[: 2 * third] + foreign[2 * third :], own, foreign, RATE) == 3
    assert changes_voice(foreign, own, foreign, RATE) == 1
    assert changes_voice(foreign, own, voice(210, seed=3), RATE) is None  # the same voice twice: nothing to tell
