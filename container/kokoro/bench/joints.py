"""Whether a cut inside a sentence can be heard: pause, click, level, timbre and pitch where two pieces meet."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from container.kokoro import engine, pcm
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.result import Result
from container.kokoro.engine import Engine
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.phonemes import Phonemizer
from container.kokoro.plan import Piece
from container.kokoro.speech import Reader
from container.kokoro.splitting import joint_s
from container.kokoro.voices import language
from container.kokoro.weights import resolve

type Parts = tuple[str, str]
SENTENCES: tuple[Parts, ...] = (
    ("Thank you for calling, ", "your order left our warehouse this morning and is on its way to you. "),
    ("When the morning train arrives, ", "most of the passengers walk straight to the harbour. "),
    ("Although nobody had expected it, ", "the small team won the last three games of the season. "),
    ("After a long and quiet winter, ", "the first flowers opened in the garden behind the house. "),
    ("If you would like to hear more, ", "say yes, or wait for the next message. "),
    ("In the middle of the old town, ", "there is a narrow street with four bakeries. "),
)
"""Sentences in two parts: what the container would cut, and where."""
CUT, UNCUT, BETWEEN = "cut at a clause", "same place, sentence spoken whole", "between two sentences"
VOICES = ("af_heart", "am_michael", "bf_emma")
NEAR_S = 0.4
"""How much speech on either side of a joint is compared."""
_WINDOW = 240
_QUIET = 0.01
_BANDS = 24


@dataclass(frozen=True)
class Joint:
    """One joint. `click`: its largest step between two samples over the largest step elsewhere.

    The rest are distances between the speech on both sides: level in dB, spectrum in dB (mean over bands), pitch in
    semitones, None where one side has no voice.
    """

    pause_s: float
    click: float
    level_db: float
    spectrum_db: float
    pitch: float | None


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--voices", nargs="+", default=list(VOICES), metavar="NAME", help="who speaks (%(default)s)")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return f"speak {len(SENTENCES)} sentences with {len(options.voices)} voices, whole and in two parts"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return one row for each kind of joint."""
    progress.begin(len(options.voices) * len(SENTENCES))
    return await asyncio.to_thread(_measure, options.engine, options.voices, progress)


def _measure(name: str, voices: Sequence[str], progress: Progress) -> Result:
    model = engine.load(name, resolve("auto", name))
    found = joints(model, Phonemizer(), voices, progress)
    table = Table(
        f"Joints: {len(SENTENCES)} sentences, {len(voices)} voices; medians (p90)",
        ("where", "joints", "pause ms", "step / largest elsewhere", "level dB", "spectrum dB", "pitch semitones"),
    )
    for where, places in found.items():
        columns = ([1000 * each.pause_s for each in places], [each.click for each in places],
                   [each.level_db for each in places], [each.spectrum_db for each in places],
                   [each.pitch for each in places if each.pitch is not None])  # fmt: skip
        shown = (f"{median(values):.2f} ({percentile(values, 0.9):.2f})" if values else None for values in columns)
        table.rows.append((where, len(places), *shown))
    return Result(table, {where: [vars(each) for each in places] for where, places in found.items()})


def joints(
    model: Engine, reader: Reader, voices: Sequence[str], progress: Progress, sentences: Sequence[Parts] = SENTENCES
) -> dict[str, list[Joint]]:
    """Speak all sentences and return their joints, by kind."""
    found: dict[str, list[Joint]] = {CUT: [], UNCUT: [], BETWEEN: []}
    for voice in voices:
        for number, (clause, rest) in enumerate(sentences):
            progress.step(f"{voice}: {clause}")
            first = speak(model, reader, Piece(clause, None, joint_s(clause)), voice)
            second = speak(model, reader, Piece(rest, joint_s(clause), None), voice)
            whole = speak(model, reader, Piece(clause + rest), voice)
            after = speak(model, reader, Piece("".join(sentences[(number + 1) % len(sentences)])), voice)
            found[CUT].append(joint(np.concatenate([first, second]), len(first)))
            found[UNCUT].append(joint(whole, pause_near(whole, len(first))))
            found[BETWEEN].append(joint(np.concatenate([whole, after]), len(whole)))
    return found


def speak(model: Engine, reader: Reader, piece: Piece, voice: str) -> Samples:
    """Return the piece as the container sends it."""
    runs = reader.read(piece.text, language(voice)).runs
    samples = np.concatenate([model.synthesise(run, voice, 1.0) for run in runs])
    return pcm.trimmed(samples, piece.lead_s, piece.tail_s)


def joint(samples: Samples, at: int) -> Joint:
    """Measure the joint before sample number `at`."""
    loud = _loud(samples)
    before, after = loud[loud * _WINDOW < at], loud[loud * _WINDOW >= at]
    end, start = (int(before[-1]) + 1) * _WINDOW, int(after[0]) * _WINDOW
    near = round(NEAR_S * MODEL_RATE)
    left, right = samples[max(end - near, 0) : end], samples[start : start + near]
    steps = np.abs(np.diff(samples))
    here = slice(max(at - 2, 0), at + 1)
    click = float(steps[here].max() / np.delete(steps, here).max())
    pitches = pitch(left), pitch(right)
    jump = None if None in pitches else abs(12 * float(np.log2(pitches[1] / pitches[0])))  # type: ignore[operator]
    spectra = _bands(right) - _bands(left)
    return Joint(
        max(start - end, 0) / MODEL_RATE,
        click,
        abs(_level(right) - _level(left)),
        float(np.abs(spectra - spectra.mean()).mean()),
        jump,
    )


def pause_near(samples: Samples, at: int) -> int:
    """Return the middle of the pause nearest to sample `at`, or `at` where there is none within half a second."""
    loud = _loud(samples)
    gaps = [(int(one) + 1, int(other)) for one, other in pairwise(loud) if other - one > 3]
    middles = [(start + end) * _WINDOW // 2 for start, end in gaps]
    near = [middle for middle in middles if abs(middle - at) < MODEL_RATE // 2]
    return min(near, key=lambda middle: abs(middle - at), default=at)


def pitch(samples: Samples) -> float | None:
    """Return the median pitch in Hz by autocorrelation of 40 ms frames, None where fewer than 3 frames are voiced."""
    size, found = 960, []
    low, high = MODEL_RATE // 400, MODEL_RATE // 60
    for start in range(0, len(samples) - size, size // 2):
        frame = samples[start : start + size] - samples[start : start + size].mean()
        likeness = np.correlate(frame, frame, "full")[size - 1 :]
        lag = low + int(likeness[low:high].argmax())
        if likeness[0] > 0 and likeness[lag] / likeness[0] > 0.5:
            found.append(MODEL_RATE / lag)
    return median(found) if len(found) >= 3 else None


def _loud(samples: Samples) -> Any:
    """Return the numbers of the 10 ms windows with speech in them."""
    windows = len(samples) // _WINDOW
    return np.flatnonzero(np.abs(samples[: windows * _WINDOW]).reshape(windows, _WINDOW).max(axis=1) > _QUIET)


def _level(samples: Samples) -> float:
    return 10 * float(np.log10(np.mean(samples**2) + 1e-12))


def _bands(samples: Samples) -> Any:
    """Return the level in dB in bands of 250 Hz up to 6 kHz."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    numbers = (np.fft.rfftfreq(len(samples), 1 / MODEL_RATE) // 250).astype(int)
    return 10 * np.log10(np.bincount(numbers, power)[:_BANDS] + 1e-9)
