"""Word error rate: what a recogniser hears of what was said, and whether the pace is that of speech."""

import argparse
import asyncio
import wave
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from container.kokoro.bench.texts import SPOKEN, Sample
from emulator.arguments import amount, count

RATE = 24_000
PACE = (9.0, 22.0)
"""Characters a second that speech of these voices has, at least and at most."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--voices", nargs="+", default=["af_heart", "am_michael", "bf_emma"], help="who speaks (%(default)s)"
    )
    parser.add_argument(
        "--texts",
        type=partial(count, most=len(SPOKEN)),
        default=len(SPOKEN),
        metavar="N",
        help="the first N texts (%(default)s)",
    )
    parser.add_argument("--limit", type=amount, default=0.1, help="word error rate that is too much (%(default)s)")
    parser.add_argument("--wav", type=Path, metavar="DIR", help="keep the audio here")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return f"one server; {options.texts} texts by {', '.join(options.voices)}, heard by a recogniser where there is one"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return a row for each voice."""
    samples = SPOKEN[: options.texts]
    table = Table(
        f"Quality over {len(samples)} texts (Harvard sentences and others)",
        (
            "voice",
            "words",
            "word error rate",
            "texts without an error",
            "characters/s",
            "out of pace",
            "MOS (listeners)",
        ),
    )
    raw: list[dict[str, Any]] = []
    progress.begin(len(samples) * len(options.voices))
    async with (
        servers.target(OURS, options.engine, options.url) as server,
        client.session(server.address) as socket,
    ):
        for voice in options.voices:
            heard = []
            for sample in samples:
                progress.step(f"{voice}: {sample.id}")
                answer = await client.speak(socket, sample.text, voice, keep=True)
                heard.append((sample, answer.pcm))
                if options.wav:
                    _write(options.wav, voice, sample, answer.pcm)
            lines = [await asyncio.to_thread(_judge, sample, pcm) for sample, pcm in heard]
            raw += [{"voice": voice, **line} for line in lines]
            table.rows.append(_row(voice, lines))
    rates = [rate for row in table.rows if (rate := row[2]) is not None]
    if not rates:
        table.notes.append("No recogniser is installed (extra 'recogniser'), so no word error rate.")
    table.notes.append("Opinions need listeners: --wav keeps the audio.")
    failed = None
    if rates and (worst := max(float(rate) for rate in rates)) > options.limit:
        failed = f"a word error rate is {worst:.1%}, the limit is {options.limit:.1%}"
    if strange := sum(not line["paced"] for line in raw):
        failed = f"{strange} answers are not spoken at {PACE[0]:g} to {PACE[1]:g} characters a second"
    return Result(table, {"answers": raw}, failed=failed)


def _judge(sample: Sample, pcm: bytes) -> dict[str, Any]:
    seconds = len(pcm) / client.BYTES_A_SECOND
    pace = len(sample.text) / seconds if seconds else 0.0
    found = {"id": sample.id, "seconds": seconds, "pace": pace, "paced": PACE[0] <= pace <= PACE[1]}
    return found | {"words": len(sample.text.split())} | _recognised(sample.text, pcm)


def _row(voice: str, lines: list[dict[str, Any]]) -> tuple[str | float | int | None, ...]:
    words = sum(line["words"] for line in lines)
    rate = clean = None
    if all("errors" in line for line in lines):
        rate = sum(line["errors"] for line in lines) / words
        clean = sum(line["errors"] == 0 for line in lines)
    pace = sum(line["pace"] for line in lines) / len(lines)
    return voice, words, rate, clean, pace, sum(not line["paced"] for line in lines), None


def _write(directory: Path, voice: str, sample: Sample, pcm: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with wave.open(str(directory / f"{voice}-{sample.id}.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm)


def _recognised(text: str, pcm: bytes) -> dict[str, Any]:
    """Return the words that were asked for, the errors in them and what was heard; nothing without a recogniser."""
    try:
        from contract_tests import recognition  # noqa: PLC0415  # of this repository, not of the image
    except ModuleNotFoundError:
        return {}
    if recognition.unavailable() is not None:
        return {}
    found = recognition.align(text, recognition.words_heard(np.frombuffer(pcm, dtype="<i2").astype(np.int16), RATE))
    return {"words": len(found.reference), "errors": found.errors, "heard": " ".join(found.heard)}
