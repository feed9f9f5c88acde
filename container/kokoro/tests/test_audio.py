import io
import wave
from itertools import pairwise

import numpy as np
import pytest

from container.kokoro.pcm import Framer, encode, trimmed, wav_header
from container.kokoro.resampling import Resampler


def test_loud_samples_are_clipped_not_wrapped() -> None:
    numbers = np.frombuffer(encode(np.array([0, 1, -1, 1.5, -1.5, 0.5, 2e-5], dtype=np.float32)), dtype="<i2")
    assert numbers.tolist() == [0, 32767, -32767, 32767, -32767, 16384, 1]


@pytest.mark.parametrize("sizes", [[24_000], [1, 2, 3], [2400], [2401], [100, 0, 20_000, 7]])
def test_frames_hold_everything_in_whole_samples(sizes: list[int]) -> None:
    samples = [np.linspace(-1, 1, size, dtype=np.float32) for size in sizes]
    framer = Framer(24_000)
    frames = [frame for part in samples for frame in framer.frames(part)]
    assert b"".join(frames) == encode(np.concatenate(samples))
    assert all(len(frame) % 2 == 0 and 0 < len(frame) <= 12_000 for frame in frames)
    assert len(frames[0]) <= 4_800
    assert framer.seconds == sum(sizes) / 24_000


def test_audio_that_comes_in_parts_has_the_frames_of_the_whole() -> None:
    samples = np.linspace(-1, 1, 30_000, dtype=np.float32)
    framer = Framer(22_050)
    frames = [frame for at in range(0, 30_000, 5_512) for frame in framer.frames(samples[at : at + 5_512], more=True)]
    frames += framer.frames(samples[:0])
    assert frames == list(Framer(22_050).frames(samples))
    assert [len(frame) // 2 for frame in frames] == [2_205, 5_512, 5_512, 5_512, 5_512, 5_512, 235]


def test_silence_around_speech_is_shortened_and_speech_is_not() -> None:
    speech = np.full(2_400, 0.5, dtype=np.float32)
    silence = np.zeros(12_000, dtype=np.float32)
    samples = np.concatenate([silence, speech, silence])
    assert len(trimmed(samples, 0.1, 0.2)) == 2_400 + 2_400 + 4_800
    assert len(trimmed(samples, None, 0.0)) == 12_000 + 2_400
    assert len(trimmed(samples, 0.0, None)) == 2_400 + 12_000
    np.testing.assert_array_equal(trimmed(samples, 5.0, 5.0), samples)
    np.testing.assert_array_equal(trimmed(speech, 0.0, 0.0), speech)
    np.testing.assert_array_equal(trimmed(silence, 0.0, 0.0), silence)
    assert len(trimmed(silence[:0], 0.0, 0.0)) == 0


def test_wav_header_reads_as_wav() -> None:
    with wave.open(io.BytesIO(wav_header(16_000) + bytes(8))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
    assert len(wav_header(8000)) == 44


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050])
@pytest.mark.parametrize("length", [0, 1, 2_399, 24_000])
def test_resampled_length(rate: int, length: int) -> None:
    resampler = Resampler(rate)
    total = len(resampler.feed(np.zeros(length, dtype=np.float32))) + len(resampler.flush())
    assert total == -(-length * rate // 24_000)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050])
def test_resampling_in_parts_leaves_no_seam_and_keeps_the_tone(rate: int) -> None:
    tone = (0.5 * np.sin(2 * np.pi * 440 * np.arange(24_000) / 24_000)).astype(np.float32)
    whole, parts = Resampler(rate), Resampler(rate)
    at_once = np.concatenate([whole.feed(tone), whole.flush()])
    cuts = [0, 1, 1_000, 1_003, 12_345, 24_000]
    pieces = [parts.feed(tone[a:b]) for a, b in pairwise(cuts)]
    in_parts = np.concatenate([*pieces, parts.flush()])
    np.testing.assert_array_equal(in_parts, at_once)
    wanted = 0.5 * np.sin(2 * np.pi * 440 * np.arange(len(at_once)) / rate)
    assert np.abs(at_once - wanted)[200:-200].max() < 0.001


def test_what_a_lower_rate_cannot_hold_is_removed() -> None:
    tone = np.sin(2 * np.pi * 6_000 * np.arange(24_000) / 24_000).astype(np.float32)
    resampler = Resampler(8_000)
    assert np.abs(resampler.feed(tone)[200:]).max() < 0.001
