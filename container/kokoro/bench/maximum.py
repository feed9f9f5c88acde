"""The most sessions whose first audio keeps a limit (95th percentile): doubled until it fails, then halved between."""

import argparse

from container.kokoro.bench import client, load, scalability, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from container.kokoro.bench.texts import MIXES
from emulator.arguments import amount, count, seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--limit", type=amount, default=1.0, help="seconds to first audio, p95 (%(default)s)")
    parser.add_argument("--seconds", type=seconds, default=60, help="for each number of sessions (%(default)s)")
    parser.add_argument("--most", type=count, default=64, help="sessions to stop at (%(default)s)")
    parser.add_argument("--texts", choices=sorted(MIXES), default="mixed", help="mix of lengths (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return (
        f"one server, {options.texts} texts: 1, 2, 4 ... sessions, at most {options.most}, until p95 of the first "
        f"audio exceeds {options.limit:g} s, then numbers between; at least {options.seconds:g} s each"
    )


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return all rungs that were climbed, and the highest that held."""
    rungs: dict[int, load.Rung] = {}
    progress.begin(2 * options.most.bit_length())
    async with servers.target(OURS, options.engine, options.url) as server:
        await client.warm_up(server.address)

        async def holds(sessions: int) -> bool:
            progress.step(f"{sessions} sessions")
            rungs[sessions] = await load.closed(server.address, sessions, options.seconds, MIXES[options.texts])
            return bool(rungs[sessions].first_p95 <= options.limit)

        good, bad = 0, 1
        while bad <= options.most and await holds(bad):
            good, bad = bad, min(2 * bad, options.most) if bad < options.most else options.most + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if await holds(middle) else (good, middle)
    climbed = [rungs[sessions] for sessions in sorted(rungs)]
    table = scalability.table(
        f"Sessions within {options.limit:g} s to first audio (p95), {options.texts} texts", climbed
    )
    raw = {"texts": options.texts, "limit_s": options.limit, "maximum": good, "rungs": [r.data() for r in climbed]}
    if not good:
        return Result(table, raw, scalability.chart(climbed), "not even one session keeps the limit")
    best = rungs[good]
    end = "" if good < options.most else f" (the most that were tried: --most {options.most})"
    table.notes.append(
        f"Maximum: {good} sessions{end}, {best.rate:.2f} answers/s, {best.audio_rate:.2f} audio-hours per hour."
    )
    return Result(table, raw, scalability.chart(climbed))
