"""What can be wrong with PCM, measured on the samples: signed 16-bit little-endian, mono, as it came in its frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from contract_tests.byteorder import is_swapped
from contract_tests.encodings import encoding_of

__all__ = ["Kind", "PcmFault", "inspect_pcm", "roughness"]

type Samples = NDArray[np.float64]
type Kind = Literal[
    "empty", "silent", "encoded", "float", "stereo", "odd-frame", "duration", "byte-shift", "byte-order", "wrapped"
]

DURATION_TOLERANCE_S = 0.02

WINDOW = 512
"""Samples that are judged together: 21 ms at 24 kHz, shorter than a syllable, long enough for a steady estimate."""
LOUD = 300.0
"""RMS from which a window can be the noise that a shift makes: that noise is as loud as the format allows."""
AUDIBLE = 20.0
"""RMS below which a window says nothing of how smooth it is: rounding to 16 bit is noise by itself."""
ROUGH = 0.6
"""Roughness of noise is about 1, of speech mostly below 0.3."""
SMOOTHER = 4.0
"""How many times smoother the signal must be when it is read one byte further on. Kokoro speech as it should be stays
below 2.7 in every window, fricatives included; moved by one byte its median is 37 at 24 kHz, 9 at 8 kHz."""
SHIFTED_RUN = 3
"""Windows in a row that must agree."""

FLOAT_RANGE = (1e-30, 4.0)
"""Magnitudes of float samples. PCM16 read as floats is far beyond them: a small negative sample has a huge exponent."""
FLOAT_SHARE = 0.999
FLOAT_LEAST_RMS = 1e-3
FLOAT_LEAST_COUNT = 256

STEREO_SHARE = 0.99
STEREO_LEAST_COUNT = 256

POOLS = {8192, 65536}
"""Sizes of the pool that Node takes small Buffers from: 8 KiB for long, 64 KiB in 24.19."""

WRAPPED_SLOPE = 8192
"""How far the signal may move per sample around a wrap, once the wrap is undone: the peaks of speech are round."""
WRAPPED_COUNT = 2
"""Steps of that kind before we call it wrapping: a peak that wraps goes over the edge and comes back."""


@dataclass(frozen=True)
class PcmFault:
    """One kind of fault in the audio of one request.

    kind   stable name
    text   what was measured, in numbers
    frame  index of the first frame that shows it; None where it is a property of the whole
    cause  what usually makes it
    fix    what to do
    """

    kind: Kind
    text: str
    frame: int | None
    cause: str
    fix: str


def inspect_pcm(frames: Sequence[bytes], sample_rate: int, declared_duration_s: float | None) -> list[PcmFault]:
    """Return what is wrong with the PCM of one request, at most one fault of each kind; empty if it is sound.

    `frames` are the binary frames in order, `sample_rate` is in Hz, `declared_duration_s` is what the container said
    (None if it said nothing). The text of the request is taken to be speakable, so that silence is a fault.
    """
    pcm = b"".join(frames)
    if not pcm:
        return [_EMPTY]
    other = [*_floats(pcm), *_stereo(pcm)]
    if other:
        return other
    faults = [*_encoded(frames), *_odd(frames), *_duration(frames, sample_rate, declared_duration_s)]
    if any(fault.kind == "encoded" for fault in faults):
        return faults  # what is no PCM has no samples to look at
    if not any(pcm):
        return [*faults, _silent(len(pcm))]
    # moved by a byte, audio is noise over the whole range: what else the samples look like means nothing
    return [*faults, *(list(_shifted(frames, pcm)) or _wrapped(frames, pcm))]


_EMPTY = PcmFault(
    kind="empty",
    text="no audio: 0 bytes of PCM between start and complete",
    frame=None,
    cause="The model returned nothing, or the loop over its segments ended before the first one was sent.",
    fix="Send the audio before complete. If the text cannot be spoken, answer with an error event instead.",
)


def _silent(size: int) -> PcmFault:
    return PcmFault(
        kind="silent",
        text=f"digital silence: all {size:,} bytes are zero",
        frame=None,
        cause="A buffer was sent before the model filled it, or samples in -1..1 were cast to integers unscaled.",
        fix="Scale to 16 bit before the cast: clip(samples * 32767, -32768, 32767).",
    )


def _encoded(frames: Sequence[bytes]) -> Iterator[PcmFault]:
    named = [(index, name) for index, frame in enumerate(frames) if (name := encoding_of(frame))]
    if named:
        first, name = named[0]
        yield PcmFault(
            kind="encoded",
            text=f"{len(named)} of {len(frames)} frames begin like a {name} file, "
            f"first frame {first}: {frames[first][:12].hex(' ')}",
            frame=first,
            cause="Each chunk goes through an encoder that makes a file of it; the header is played as a click.",
            fix="Send the raw samples only, without header and without encoder.",
        )


def _floats(pcm: bytes) -> Iterator[PcmFault]:
    """Look for samples of 32-bit floats, little-endian, in -1..1: they are no PCM16 by any chance."""
    with np.errstate(invalid="ignore"):  # nan is no sample
        values = np.frombuffer(pcm[: len(pcm) // 4 * 4], dtype="<f4").astype(np.float64)
    if len(values) < FLOAT_LEAST_COUNT or not values.any():
        return
    with np.errstate(invalid="ignore"):
        size = np.abs(values)
        fits = (size == 0) | ((size > FLOAT_RANGE[0]) & (size < FLOAT_RANGE[1]))
    if fits.mean() < FLOAT_SHARE:
        return
    rms = float(np.sqrt(np.mean(np.square(values[fits]))))
    if rms < FLOAT_LEAST_RMS or values.min() >= 0 or values.max() <= 0:
        return
    yield PcmFault(
        kind="float",
        text=f"{len(pcm):,} bytes that are 32-bit floats from {values[fits].min():.2f} to {values[fits].max():.2f}, "
        "not 16-bit integers: twice the bytes, and noise when they are played",
        frame=None,
        cause="The model's float samples are sent as they are (`tensor.numpy().tobytes()`), without the cast to int16.",
        fix="Scale, clip and cast: (np.clip(samples, -1, 1) * 32767).astype('<i2').tobytes().",
    )


def _stereo(pcm: bytes) -> Iterator[PcmFault]:
    """Look for samples that come in equal pairs, as a mono signal does that is sent on two channels."""
    pairs = np.frombuffer(pcm[: len(pcm) // 4 * 4], dtype="<i2").reshape(-1, 2)
    told = pairs[pairs.any(axis=1)]
    if len(told) < STEREO_LEAST_COUNT or float((told[:, 0] == told[:, 1]).mean()) < STEREO_SHARE:
        return
    yield PcmFault(
        kind="stereo",
        text=f"each sample comes twice ({len(told):,} equal pairs): two channels where one is expected, so that it is "
        "played at half speed and an octave too low",
        frame=None,
        cause="The audio is converted to stereo (a library's default, `channels=2`) before it is sent.",
        fix="Send one channel: samples[:, 0].",
    )


def _odd(frames: Sequence[bytes]) -> Iterator[PcmFault]:
    odd = [index for index, frame in enumerate(frames) if len(frame) % 2]
    if odd:
        yield PcmFault(
            kind="odd-frame",
            text=f"{len(odd)} of {len(frames)} frames have an odd number of bytes, "
            f"first frame {odd[0]} with {len(frames[odd[0]]):,}: it ends in the middle of a 2-byte sample",
            frame=odd[0],
            cause="PCM is cut at byte positions, or a pause is computed in bytes: int(22050 * 0.25 * 2) is 11025.",
            fix="Count samples and multiply by 2 at the very end; carry an odd byte over into the next frame.",
        )


_MISCOUNTED = "The duration is computed for another sample rate than the audio has, or chunks were lost or sent twice."
_POOLED = "`.buffer` of a small Node Buffer is sent, the pool of 8 or 64 KiB that it lies in, with all that it holds."


def _duration(frames: Sequence[bytes], rate: int, declared_s: float | None) -> Iterator[PcmFault]:
    if declared_s is None:
        return
    size = sum(map(len, frames))
    actual_s = size / (2 * rate)
    if abs(actual_s - declared_s) <= DURATION_TOLERANCE_S:
        return
    pooled = actual_s > declared_s and {len(frame) for frame in frames} <= POOLS
    fits = f" ({size / 2 / declared_s:,.0f} Hz would fit)" if declared_s > 0 else ""
    yield PcmFault(
        kind="duration",
        text=f"{size:,} bytes are {actual_s:.3f} s at {rate:,} Hz, declared were {declared_s:.3f} s{fits}",
        frame=None,
        cause=_POOLED if pooled else _MISCOUNTED,
        fix="chunk.subarray(from, to), or new Int16Array(chunk.buffer, chunk.byteOffset, chunk.length / 2)."
        if pooled
        else "Compute it from what was sent: bytes / (2 * sample rate).",
    )


def _shifted(frames: Sequence[bytes], pcm: bytes) -> Iterator[PcmFault]:
    """Look for samples that are made of the halves of two neighbours.

    The high byte of a sample carries the signal, the low byte is close to noise. Where the two have changed places,
    the samples as delivered are noise and the same bytes read one further on are smooth again. Sound that is noise in
    itself (fricatives) is rough in both readings and is left alone. Not told: speech whose peak is under about 6 % of
    full scale, or that comes from 8 bit, because its low bytes are no noise.
    """
    here = roughness(_samples(pcm, 0), LOUD)
    there = roughness(_samples(pcm, 1), AUDIBLE)
    count = min(len(here), len(there))
    with np.errstate(invalid="ignore"):  # nan, a window that says nothing, compares as False
        shifted = (here[:count] > ROUGH) & (here[:count] > SMOOTHER * there[:count])
    first = _first_run(shifted, SHIFTED_RUN)
    if first is None:
        return
    total = int(shifted.sum())
    if is_swapped(pcm, shifted):
        yield _swapped(total, count, _frame_at(frames, first * WINDOW * 2))
        return
    yield PcmFault(
        kind="byte-shift",
        text=f"{total} of {count} windows of {WINDOW} samples are noise as delivered and smooth when read one byte "
        f"further on (roughness {np.median(here[:count][shifted]):.2f} against "
        f"{np.median(there[:count][shifted]):.2f}), from byte {first * WINDOW * 2:,} on",
        frame=_frame_at(frames, first * WINDOW * 2),
        cause="One byte was lost or added: a header skipped with a wrong length, a pause of an odd number of bytes.",
        fix="Slice and join PCM at even byte positions only; count samples, not bytes.",
    )


def _swapped(total: int, count: int, frame: int) -> PcmFault:
    return PcmFault(
        kind="byte-order",
        text=f"{total} of {count} windows of {WINDOW} samples are noise as delivered and smooth when the two bytes of "
        "each sample change places: big-endian samples where little-endian ones are expected, or the other way round",
        frame=frame,
        cause="The samples are written in the other byte order: `'>i2'`, `struct.pack('!h')`, a Java ByteBuffer or a "
        "DataView.setInt16() without its last argument, all of which are big-endian, or an L16 or AIFF stream.",
        fix="Write little-endian: samples.astype('<i2'), setInt16(at, value, true), order(LITTLE_ENDIAN).",
    )


def _wrapped(frames: Sequence[bytes], pcm: bytes) -> Iterator[PcmFault]:
    """Look for steps across the whole range that vanish when the far side is moved by 65536.

    The two steps before and after must be ordinary ones, as at the round peak of a vowel. Audio that was clipped, as it
    should be, can jump from one end to the other as well; it is told by its samples on the rails.
    """
    samples = _samples(pcm, 0)
    if len(samples) < 6:
        return
    steps = np.diff(samples)
    undone = np.abs((steps + 32768) % 65536 - 32768)
    rails = np.abs(samples) >= 32767
    smooth = np.lib.stride_tricks.sliding_window_view(undone < WRAPPED_SLOPE, 5).all(axis=1)
    clipped = np.lib.stride_tricks.sliding_window_view(rails[1:-1], 4).sum(axis=1) > 1
    wrapped = np.flatnonzero((np.abs(steps[2:-2]) > 32768) & smooth & ~clipped) + 2
    if len(wrapped) < WRAPPED_COUNT:
        return
    first = int(wrapped[0])
    yield PcmFault(
        kind="wrapped",
        text=f"{len(wrapped)} steps across the whole range between neighbouring samples, the largest "
        f"{int(np.abs(steps[wrapped]).max()):,} of 65,535, the first at sample {first:,}: "
        f"{', '.join(f'{sample:.0f}' for sample in samples[first - 1 : first + 3])}",
        frame=_frame_at(frames, 2 * first),
        cause="Samples beyond -1..1 were scaled and cast to 16 bit without clipping; peaks come out at the other end.",
        fix="Clip before the cast: clip(samples * 32767, -32768, 32767).",
    )


def roughness(samples: Samples, floor: float) -> Samples:
    """Return for each whole window how noise-like it is: mean square of the steps over twice the variance.

    0 is a slow wave, 1 is white noise, 2 alternates with every sample; nan is a window with an RMS below `floor`.
    """
    windows = samples[: len(samples) // WINDOW * WINDOW].reshape(-1, WINDOW)
    variance = windows.var(axis=1)
    steps = np.square(np.diff(windows, axis=1)).mean(axis=1)
    quiet = variance < floor**2
    return np.where(quiet, np.nan, steps / (2 * np.where(quiet, 1, variance)))


def _samples(pcm: bytes, offset: int) -> Samples:
    count = (len(pcm) - offset) // 2
    return np.frombuffer(pcm, dtype="<i2", count=count, offset=offset).astype(np.float64)


def _first_run(flags: NDArray[np.bool_], length: int) -> int | None:
    """Return where `length` flags in a row are set for the first time."""
    if len(flags) < length:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(flags, length).all(axis=1)
    return int(runs.argmax()) if runs.any() else None


def _frame_at(frames: Sequence[bytes], position: int) -> int:
    """Return the index of the frame that holds byte `position` of the whole."""
    ends = np.cumsum([len(frame) for frame in frames])
    return int(np.searchsorted(ends, position, side="right"))
