"""Whether a planned rate is carried: requests that come by chance (Poisson), held against a limit of first audio."""

import argparse

from container.kokoro.bench import client, load, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from container.kokoro.bench.texts import MIXES
from emulator.arguments import amount, positive, seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--rate", type=positive, required=True, help="requests a second")
    parser.add_argument("--limit", type=amount, default=1.0, help="seconds to first audio, p95 (%(default)s)")
    parser.add_argument("--seconds", type=seconds, default=120, help="of requests (%(default)s)")
    parser.add_argument("--texts", choices=sorted(MIXES), default="mixed", help="mix of lengths (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return (
        f"one server, {options.texts} texts: {options.rate:g} requests a second by chance for {options.seconds:g} s, "
        f"each in a session of its own; fails when p95 of the first audio exceeds {options.limit:g} s or one is refused"
    )


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return one row."""
    progress.begin(1)
    async with servers.target(OURS, options.engine, options.url) as server:
        await client.warm_up(server.address)
        progress.step(f"{options.rate:g} requests a second")
        rung = await load.by_chance(server.address, options.rate, options.seconds, MIXES[options.texts])
    table = Table(
        f"Open load of {options.rate:g} requests/s, {options.texts} texts, {options.seconds:g} s",
        (
            "asked for/s", "answers", "refused", "answers/s", "most at once", "in system (Little)",
            "first audio p50 ms", "p95 ms", "whole answer p50 ms", "p95 ms",
        ),
    )  # fmt: skip
    table.rows.append((
        options.rate, len(rung.total_s), rung.refused, rung.rate, rung.sessions, rung.in_system, rung.first_p50 * 1000,
        rung.first_p95 * 1000, median(rung.total_s) * 1000, percentile(rung.total_s, 0.95) * 1000,
    ))  # fmt: skip
    failed = None
    if rung.refused:
        failed = f"{rung.refused} requests were refused"
    elif rung.first_p95 > options.limit:
        failed = f"p95 of the first audio is {rung.first_p95:.2f} s, the limit is {options.limit:g} s"
    return Result(table, {"limit_s": options.limit, "rate": options.rate, "rungs": [rung.data()]}, failed=failed)
