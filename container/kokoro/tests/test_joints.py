"""The measure of joints, on tones: that it sees what a listener would hear."""

import numpy as np
import pytest

from container.kokoro.bench import joints
from container.kokoro.bench.progress import Progress
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.tests.fakes import FakeEngine, FakeReader


def tone(hertz: float, level: float = 0.2, seconds: float = 1.0) -> Samples:
    """A tone with overtones, faded at its ends."""
    times = np.arange(round(seconds * MODEL_RATE)) / MODEL_RATE
    wave = sum(np.sin(2 * np.pi * hertz * number * times) / number for number in range(1, 8))
    fade = np.minimum(1, np.minimum(times, times[::-1]) / 0.01)
    return np.asarray(level * wave * fade, dtype=np.float32)


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * MODEL_RATE), dtype=np.float32)


def joined(one: Samples, other: Samples, pause_s: float = 0.3) -> tuple[Samples, int]:
    half = silence(pause_s / 2)
    return np.concatenate([one, half, half, other]), len(one) + len(half)


def test_two_takes_of_one_tone_differ_in_nothing() -> None:
    found = joints.joint(*joined(tone(150), tone(150)))
    assert found.pause_s == pytest.approx(0.3, abs=0.025)
    assert found.click < 0.01
    assert found.level_db < 0.2
    assert found.spectrum_db < 0.5
    assert found.pitch == pytest.approx(0, abs=0.1)


def test_each_difference_is_seen_by_its_own_measure() -> None:
    assert joints.joint(*joined(tone(150), tone(150, 0.4))).level_db == pytest.approx(6, abs=0.5)
    assert joints.joint(*joined(tone(150), tone(189))).pitch == pytest.approx(4, abs=0.5)
    assert joints.joint(*joined(tone(150), tone(150), 0.8)).pause_s == pytest.approx(0.8, abs=0.025)
    assert joints.joint(*joined(tone(150), tone(150)[::4])).spectrum_db > 3
    samples, at = joined(tone(150), tone(150))
    samples[at] = 0.9
    assert joints.joint(samples, at).click > 2


def test_a_pause_is_found_near_where_it_should_be_and_a_hiss_has_no_pitch() -> None:
    samples, at = joined(tone(150), tone(150))
    assert joints.pause_near(samples, at - 4_000) == pytest.approx(at, abs=300)
    assert joints.pause_near(tone(150), 9_000) == 9_000
    hiss = np.random.default_rng(1).normal(0, 0.1, MODEL_RATE).astype(np.float32)
    assert joints.pitch(hiss) is None


def test_all_three_kinds_of_joints_are_measured() -> None:
    class Singing(FakeEngine):
        def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
            del voice, speed
            return np.concatenate([silence(0.3), tone(150, seconds=len(phonemes) * 0.05), silence(0.5)])

    sentences = (("When the clause ends, ", "the rest begins. "), ("If it is heard, ", "it is too much. "))
    found = joints.joints(Singing(), FakeReader(), ["af_heart"], Progress(), sentences)
    assert [len(places) for places in found.values()] == [2, 2, 2]
    assert [places[0].pause_s for places in found.values()] == pytest.approx([0.36, 0, 0.8], abs=0.03)
