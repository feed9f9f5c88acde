import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from contract_tests.audio import inspect_pcm
from contract_tests.encodings import encoding_of
from contract_tests.good.tone import cut, pcm16, waveform

RATE = 24000

type Wave = NDArray[np.float64]


def speech_like(seed: int = 0, rate: int = RATE, peak: float = 0.7) -> Wave:
    """Vowels (decaying harmonics under a moving pitch), fricatives (high-passed noise) and pauses, 1.9 s."""
    rng = np.random.default_rng(seed)
    parts = []
    for formant in (500, 1500, 900, 2500):
        time = np.arange(round(0.25 * rate)) / rate
        pitch = np.cumsum(120 + 40 * np.sin(2 * np.pi * 3 * time)) / rate
        harmonics = np.arange(1, min(30, rate // 400))
        weights = 1 / (1 + ((harmonics * 120 - formant) / 300) ** 2) + 0.3 / harmonics
        vowel = np.tensordot(weights, np.sin(2 * np.pi * np.outer(harmonics, pitch)), axes=1)
        fricative = np.diff(rng.normal(0, 1, round(0.12 * rate) + 1))
        for part, level in ((vowel, 1.0), (fricative, 0.25)):
            envelope = np.sin(np.pi * np.arange(len(part)) / len(part)) ** 0.5
            parts.append(level * envelope * part / np.abs(part).max())
        parts.append(np.zeros(round(0.1 * rate)))
    joined = np.concatenate(parts)
    scaled: Wave = peak * joined / np.abs(joined).max()
    return scaled


def kinds(pcm: bytes, rate: int = RATE) -> list[str]:
    return [fault.kind for fault in inspect_pcm([pcm], rate, len(pcm) / (2 * rate))]


def noise(level: float) -> Wave:
    return level * np.random.default_rng(3).uniform(-1, 1, RATE)


CLEAN = {
    "speech": speech_like(),
    "loud speech": speech_like(peak=1.0),
    "clipped speech": 3 * speech_like(),
    "quiet speech": speech_like(peak=0.01),
    "tone": waveform("Hello there.", "af_heart", RATE),
    "high tone": 0.5 * np.sin(np.arange(RATE) * 2 * np.pi * 9000 / RATE),
    "full scale tone": np.sin(np.arange(RATE) * 2 * np.pi * 997 / RATE),
    "square wave": np.sign(np.sin(np.arange(RATE) * 0.3)),
    "clicks": np.where(np.arange(RATE) % 240 == 0, 1.0, 0.0),
    "white noise": noise(0.5),
    "fricative": np.diff(noise(0.5)),
    "dither": noise(2 / 32768),
    "eight bit": np.round(127 * speech_like()) / 128,
    "one sample": np.array([0.5]),
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_audio_has_no_fault(name: str) -> None:
    assert kinds(pcm16(CLEAN[name])) == []


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 48000])
def test_clean_audio_has_no_fault_at_any_rate(rate: int) -> None:
    assert kinds(pcm16(speech_like(rate=rate)), rate) == []


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 6000), min_size=1, max_size=12), st.integers(0, 5), st.floats(0.001, 1))
def test_clean_audio_stays_clean_however_it_is_framed(samples: list[int], seed: int, peak: float) -> None:
    pcm = pcm16(speech_like(seed, peak=peak))
    edges = [0, *itertools.takewhile(lambda at: at < len(pcm), itertools.accumulate(2 * count for count in samples))]
    frames = [pcm[start:end] for start, end in zip(edges, [*edges[1:], len(pcm)], strict=True)]
    assert inspect_pcm(frames, RATE, len(pcm) / (2 * RATE)) == []


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 3000).map(lambda half: 2 * half + 1))
def test_odd_cuts_are_the_only_fault_of_oddly_cut_audio(size: int) -> None:
    pcm = pcm16(speech_like())
    (fault,) = inspect_pcm(list(cut(pcm, size)), RATE, None)
    assert (fault.kind, fault.frame) == ("odd-frame", 0)
    assert f"{size:,}" in fault.text


def test_names_the_first_odd_frame_and_counts_them() -> None:
    pcm = pcm16(speech_like())
    (fault,) = inspect_pcm([pcm[:100], pcm[100:203], pcm[203:]], RATE, None)
    assert fault.frame == 1
    assert fault.text.startswith("2 of 3 frames have an odd number of bytes, first frame 1 with 103")


@pytest.mark.parametrize("frames", [[], [b""], [b"", b""]])
def test_no_audio(frames: list[bytes]) -> None:
    assert [fault.kind for fault in inspect_pcm(frames, RATE, 0.0)] == ["empty"]


def test_digital_silence() -> None:
    assert kinds(bytes(48000)) == ["silent"]


def test_a_pause_is_no_digital_silence() -> None:
    assert kinds(bytes(48000) + pcm16(speech_like()) + bytes(48000)) == []


@pytest.mark.parametrize(
    ("declared", "wrong"), [(1.0, False), (1.0199, False), (0.981, False), (1.03, True), (0, True)]
)
def test_duration(declared: float, *, wrong: bool) -> None:
    pcm = pcm16(0.5 * np.sin(np.arange(RATE) * 0.1))
    faults = inspect_pcm([pcm], RATE, declared)
    assert [fault.kind for fault in faults] == ["duration"] * wrong


def test_duration_names_the_rate_that_would_fit() -> None:
    pcm = pcm16(speech_like())
    (fault,) = inspect_pcm([pcm], RATE, len(pcm) / (2 * 22050))
    assert "(22,050 Hz would fit)" in fault.text


@pytest.mark.parametrize(
    ("size", "declared", "pool"), [(8192, 0.9, True), (65536, 0.9, True), (8190, 0.9, False), (8192, 2.0, False)]
)
def test_more_than_declared_in_frames_as_large_as_node_s_pool(size: int, declared: float, *, pool: bool) -> None:
    frames = [pcm16(0.5 * np.sin(np.arange(size // 2) * 0.1))] * 6
    (fault,) = [each for each in inspect_pcm(frames, RATE, declared) if each.kind == "duration"]
    assert ("Node Buffer" in fault.cause) == pool


@pytest.mark.parametrize("shift", [lambda pcm: pcm[1:] + b"\0", lambda pcm: b"\0" + pcm[:-1]], ids=["lost", "added"])
@pytest.mark.parametrize("name", ["speech", "loud speech", "clipped speech", "tone"])
def test_byte_shift(name: str, shift: Callable[[bytes], bytes]) -> None:
    assert kinds(shift(pcm16(CLEAN[name]))) == ["byte-shift"]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(0.1, 1), st.sampled_from([8000, 16000, 24000]))
def test_byte_shift_at_any_level_and_rate(seed: int, peak: float, rate: int) -> None:
    assert kinds(pcm16(speech_like(seed, rate, peak))[1:] + b"\0", rate) == ["byte-shift"]


def swapped(samples: Wave) -> bytes:
    return np.frombuffer(pcm16(samples), "<i2").astype(">i2").tobytes()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.floats(0.1, 1), st.sampled_from([8000, 16000, 24000]))
def test_the_other_byte_order_is_no_byte_shift(seed: int, peak: float, rate: int) -> None:
    (fault,) = inspect_pcm([swapped(speech_like(seed, rate, peak))], rate, None)
    assert (fault.kind, fault.frame) == ("byte-order", 0)
    assert fault.cause.startswith("The samples are written in the other byte order")


@pytest.mark.parametrize("name", ["speech", "loud speech", "clipped speech", "tone"])
def test_the_other_byte_order(name: str) -> None:
    assert kinds(swapped(CLEAN[name])) == ["byte-order"]


def test_byte_shift_in_the_middle_names_its_frame() -> None:
    pcm = pcm16(speech_like())
    middle = len(pcm) // 2 + 2000
    shifted = pcm[:middle] + pcm[middle + 1 :] + b"\0"
    (fault,) = inspect_pcm(list(cut(shifted, 9600)), RATE, None)
    assert fault.kind == "byte-shift"
    assert fault.frame in {middle // 9600, middle // 9600 + 1}


def wrapped(samples: Wave) -> bytes:
    return (samples * 32768).astype("<i4").astype("<i2").tobytes()


@pytest.mark.parametrize("gain", [1.1, 1.3, 2.0, 3.0])
def test_wrapping(gain: float) -> None:
    assert kinds(wrapped(gain * speech_like(peak=1.0))) == ["wrapped"]


def test_a_single_peak_of_exactly_one_wraps_when_it_is_scaled_by_32768() -> None:
    samples = np.sin(np.arange(RATE) * 2 * np.pi * 200 / RATE)  # a sample on every top
    (fault,) = inspect_pcm([wrapped(samples[:120])], RATE, None)
    assert (fault.kind, fault.frame) == ("wrapped", 0)
    assert "-32768" in fault.text


HEADERS = {
    b"RIFF\x24\x2e\0\0WAVEfmt ": "WAV",
    b"ID3\x04\0\0\0\0\0\0": "MP3",
    b"OggS\0\x02": "Ogg",
    b"fLaC\0\0\0\x22": "FLAC",
}


@pytest.mark.parametrize("header", HEADERS)
def test_encoded_audio(header: bytes) -> None:
    pcm = pcm16(speech_like())
    frames = [pcm[:1000], header + pcm[1000:2000], header + pcm[2000:]]
    fault = next(fault for fault in inspect_pcm(frames, RATE, None) if fault.kind == "encoded")
    assert fault.frame == 1
    assert fault.text.startswith(
        f"2 of 3 frames begin like a {HEADERS[header]} file, first frame 1: {header[:4].hex(' ')}"
    )


def test_encoded_audio_is_not_judged_as_samples() -> None:
    assert [fault.kind for fault in inspect_pcm([b"RIFF" + bytes(96)], RATE, None)] == ["encoded"]


MP3 = {
    "MPEG 1, 128 kbit/s, 44.1 kHz": (b"\xff\xfb\x90\x00", 417),
    "MPEG 2, 48 kbit/s, 24 kHz": (b"\xff\xf3\x64\xc4", 144),
    "MPEG 2.5, 8 kbit/s, 8 kHz": (b"\xff\xe3\x18\xc4", 72),
}


@pytest.mark.parametrize("name", MP3)
def test_mp3_without_a_tag_is_told_by_its_chain_of_headers(name: str) -> None:
    header, length = MP3[name]
    frame = header + b"\x55" * (length - 4)
    assert encoding_of(frame * 3) == "MP3"
    assert encoding_of(frame * 2 + b"\x55" * length) is None


@given(st.binary(max_size=2000))
def test_a_single_sync_word_is_pcm(tail: bytes) -> None:
    assert encoding_of(b"\xff\xfb" + b"\x00\x00" + tail) is None  # bit rate 0 is none that a stream can have
    assert encoding_of(b"\xff\xfb\x90\x00" + b"\x00" * 413 + b"\x00" + tail) is None


@given(st.binary(max_size=200))
def test_nothing_raises(data: bytes) -> None:
    inspect_pcm([data[:50], data[50:]], RATE, 0.1)


def test_every_fault_explains_itself() -> None:
    pcm = pcm16(speech_like())
    faults = [
        *inspect_pcm([], RATE, None),
        *inspect_pcm([bytes(100)], RATE, 9.0),
        *inspect_pcm([b"RIFF" + pcm], RATE, None),
        *inspect_pcm([pcm[1:] + b"\0"], RATE, None),
        *inspect_pcm([wrapped(1.3 * speech_like(peak=1.0))], RATE, None),
        *inspect_pcm([pcm[:-1]], RATE, None),
    ]
    assert {fault.kind for fault in faults} == {
        "empty", "silent", "duration", "encoded", "byte-shift", "wrapped", "odd-frame",
    }  # fmt: skip
    for fault in faults:
        assert any(character.isdigit() for character in fault.text)
        assert fault.cause.endswith(".")
        assert fault.fix[0].isupper()


@pytest.mark.parametrize(
    "name", [name for name in CLEAN if name not in {"one sample", "dither", "clicks", "square wave"}]
)
def test_floats_in_the_place_of_samples_are_told(name: str) -> None:
    floats = CLEAN[name].astype("<f4").tobytes()
    assert kinds(floats) == ["float"]


@pytest.mark.parametrize("name", [name for name in CLEAN if name not in {"one sample", "clicks"}])
def test_two_channels_in_the_place_of_one_are_told(name: str) -> None:
    twice = np.frombuffer(pcm16(CLEAN[name]), "<i2").repeat(2).tobytes()
    assert kinds(twice) == ["stereo"]


def test_pcm_is_never_taken_for_floats() -> None:
    positive = (np.abs(speech_like()) * 16000).astype("<i2").tobytes()  # rectified: small positive samples only
    assert "float" not in kinds(positive)
