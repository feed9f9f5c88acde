"""What it brings to speak several texts at once (engine torch), and whether each still sounds as if it were alone."""

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median
from container.kokoro.bench.result import Result
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.phonemes import Phonemizer
from container.kokoro.weights import resolve
from emulator.arguments import count

ALIKE = (
    "The first flowers opened in the garden behind the old house.",
    "Your order left our warehouse this morning and is on its way.",
    "Most of the passengers walked straight to the quiet harbour.",
    "She asked for a second cup of tea and looked at the old map.",
    "There is a narrow street with four bakeries in the old town.",
    "The small team won all of the last three games of the season.",
    "We talked about the weather until the first boats came home.",
    "A fresh wind from the west brought rain to the coast at noon.",
)
MIXED = tuple(text[: 18 + 6 * number] if number < 7 else text + " " + ALIKE[0] for number, text in enumerate(ALIKE))
"""Of 18 to 120 characters."""
VOICE = "af_heart"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--batches", type=count, nargs="+", default=[1, 2, 4, 8], metavar="N", help="texts at once (%(default)s)"
    )
    parser.add_argument("--runs", type=count, default=3, help="of each batch (%(default)s)")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    sizes = ", ".join(map(str, options.batches))
    return f"speak {len(ALIKE)} texts of one length and {len(MIXED)} of several, {sizes} at once, {options.runs} times"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return one row for each size and kind of texts. Raises RuntimeError for another engine than torch."""
    if options.engine != "torch":
        raise RuntimeError(f"the engine {options.engine} takes one text at a time; use --engine torch")
    return await asyncio.to_thread(_measure, options.batches, options.runs, progress)


def _measure(sizes: Sequence[int], runs: int, progress: Progress) -> Result:
    from container.kokoro.torch_engine import TorchEngine  # noqa: PLC0415  # an extra

    engine = TorchEngine(resolve("auto", "torch"))
    read = Phonemizer().read
    table = Table(
        f"Batches, medians of {runs} runs; distance: mean over 10 ms and all bands, to the same text alone",
        ("texts", "at once", "computing s per audio s", "times alone", "distance dB", "alone twice dB"),
    )
    raw: list[dict[str, Any]] = []
    progress.begin(2 * len(sizes))
    for kind, texts in (("of one length", ALIKE), ("of 18 to 120 characters", MIXED)):
        runs_of = [(read(text, "a").runs[0], VOICE, 1.0) for text in texts]
        alone = [engine.speak_together([run])[0] for run in runs_of]
        again = [engine.speak_together([run])[0] for run in runs_of]
        floor = float(np.mean([distance(one, other) for one, other in zip(alone, again, strict=True)]))
        base = None
        for size in sizes:
            progress.step(f"{kind}, {size} at once")
            batches = [runs_of[at : at + size] for at in range(0, len(runs_of), size)]
            found: list[Samples] = []
            times = []
            for _ in range(runs):
                begun = time.perf_counter()
                found = [audio for batch in batches for audio in engine.speak_together(batch)]
                times.append(time.perf_counter() - begun)
            factor = median(times) / (sum(map(len, found)) / MODEL_RATE)
            base = base or factor
            far = float(np.mean([distance(one, other) for one, other in zip(alone, found, strict=True)]))
            table.rows.append((kind, size, factor, base / factor, far, floor))
            raw.append({"texts": kind, "batch": size, "seconds": times, "distance_db": far, "floor_db": floor})
    return Result(table, {"runs": raw})


def distance(one: Samples, other: Samples) -> float:
    """Return how far two takes are apart: mean difference in dB over frames of 10 ms and 24 bands, where one is loud.

    The model adds noise to each take, so two takes of one text are apart, too.
    """
    size = min(len(one), len(other))
    spectra = [_bands(take[:size]) for take in (one, other)]
    loud = np.maximum(*spectra) > np.max(spectra) - 50
    return float(np.abs(spectra[0] - spectra[1])[loud].mean()) + 20 * abs(len(one) - len(other)) / max(size, 1)


def _bands(samples: Samples) -> Any:
    """Return levels in dB: frames of 40 ms, every 10 ms, in bands of 250 Hz up to 6 kHz."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 960)[::240] * np.hanning(960)
    power = np.abs(np.fft.rfft(frames)) ** 2
    return 10 * np.log10(power[:, : 24 * 10].reshape(len(power), 24, 10).sum(axis=2) + 1e-9)
