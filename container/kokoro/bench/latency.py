"""Time to first audio and to the whole answer by length of text, one session, nothing else going on."""

import argparse
from typing import Any

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from container.kokoro.bench.texts import SAMPLES
from emulator.arguments import count
from emulator.bench.chart import Chart


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--runs", type=count, default=5, help="of each text (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return f"one server, one session: {len(SAMPLES)} texts of four lengths, {options.runs} rounds"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return percentiles by category of text."""
    found: dict[str, list[tuple[int, client.Heard]]] = {}
    progress.begin((options.runs + 1) * len(SAMPLES))
    async with (
        servers.target(OURS, options.engine, options.url) as server,
        client.session(server.address) as socket,
    ):
        for run in range(options.runs + 1):
            for sample in SAMPLES:
                progress.step(sample.id)
                heard = await client.speak(socket, sample.text)
                if run:  # the first round warms up
                    found.setdefault(sample.category, []).append((len(sample.text), heard))
    table = Table(
        f"Latency by length of text, one session, {options.runs} runs of each text",
        (
            "texts", "characters", "answers", "first audio p50 ms", "p95 ms", "whole answer p50 ms", "p95 ms",
            "audio s", "real-time factor", "dry ms",
        ),
    )  # fmt: skip
    raw: list[dict[str, Any]] = []
    points: dict[str, list[tuple[float, float]]] = {"first audio": [], "whole answer": []}
    for category, answers in found.items():
        characters = sum(length for length, _ in answers) / len(answers)
        first = [heard.first_s for _, heard in answers]
        total = [heard.total_s for _, heard in answers]
        audio = sum(heard.audio_s for _, heard in answers)
        table.rows.append((
            category, round(characters), len(answers), median(first) * 1000, percentile(first, 0.95) * 1000,
            median(total) * 1000, percentile(total, 0.95) * 1000, audio / len(answers), sum(total) / audio,
            max(heard.dry_s for _, heard in answers) * 1000,
        ))  # fmt: skip
        raw.append({"category": category, "characters": characters, "first_s": first, "total_s": total})
        points["first audio"].append((characters, median(first) * 1000))
        points["whole answer"].append((characters, median(total) * 1000))
    return Result(table, {"categories": raw}, Chart("Latency", "characters", "ms (p50)", points))
