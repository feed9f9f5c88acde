"""A ladder of sessions that always ask for more: rate, first audio, time in system, and Little's law on each rung."""

import argparse
from collections.abc import Sequence

from container.kokoro.bench import client, load, servers
from container.kokoro.bench.load import LITTLE_TOLERANCE, Rung
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from container.kokoro.bench.texts import MIXES
from emulator.arguments import count, seconds
from emulator.bench.chart import Chart

SESSIONS = (1, 2, 4, 8, 16)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--seconds", type=seconds, default=60, help="for each rung (%(default)s)")
    parser.add_argument("--sessions", type=count, nargs="+", metavar="N", help=load.sessions_help(SESSIONS))
    parser.add_argument("--texts", choices=sorted(MIXES), default="mixed", help="mix of lengths (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    rungs = ", ".join(map(str, options.sessions))
    return f"one server, {options.texts} texts: {rungs} sessions, at least {options.seconds:g} s each"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return a row for each rung."""
    rungs: list[Rung] = []
    progress.begin(len(options.sessions))
    async with servers.target(OURS, options.engine, options.url) as server:
        await client.warm_up(server.address)
        for sessions in options.sessions:
            progress.step(f"{sessions} sessions")
            rungs.append(await load.closed(server.address, sessions, options.seconds, MIXES[options.texts]))
    title = f"Scalability, {options.texts} texts, at least {options.seconds:g} s for each rung"
    return Result(table(title, rungs), {"texts": options.texts, "rungs": [rung.data() for rung in rungs]}, chart(rungs))


def table(title: str, rungs: Sequence[Rung]) -> Table:
    """Return a row for each rung, and a note where Little's law does not hold."""
    result = Table(
        title,
        (
            "sessions", "answers", "answers/s", "audio-hours per hour", "characters/s", "first audio p50 ms", "p95 ms",
            "whole answer p50 ms", "p95 ms", "in system (Little)",
        ),
    )  # fmt: skip
    for rung in rungs:
        result.rows.append((
            rung.sessions, len(rung.total_s), rung.rate, rung.audio_rate, rung.characters / rung.elapsed_s,
            rung.first_p50 * 1000, rung.first_p95 * 1000, median(rung.total_s) * 1000,
            percentile(rung.total_s, 0.95) * 1000, rung.in_system,
        ))  # fmt: skip
        if rung.little_error > LITTLE_TOLERANCE:
            result.notes.append(
                f"{rung.sessions} sessions: rate times time in system is {rung.in_system:.2f}, {rung.little_error:.0%} "
                "off; take more seconds."
            )
    return result


def chart(rungs: Sequence[Rung]) -> Chart:
    """Return the first audio over the sessions."""
    series = {
        "p50": [(float(rung.sessions), rung.first_p50 * 1000) for rung in rungs],
        "p95": [(float(rung.sessions), rung.first_p95 * 1000) for rung in rungs],
    }
    return Chart("First audio under load", "sessions", "ms", series)
