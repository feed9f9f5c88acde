"""Time to first audio: whole text, first sentence, first clause, on three servers in interleaved rounds."""

import argparse
from contextlib import AsyncExitStack

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS, OURS_BY_SENTENCE, WHOLE_TEXT
from emulator.arguments import count
from emulator.bench.chart import Chart

KINDS = {"whole text": WHOLE_TEXT, "first sentence": OURS_BY_SENTENCE, "first clause": OURS}
TEXT = (
    "Thank you for calling, your order has left our warehouse just now. It should be with you tomorrow, at any time "
    "between nine and noon. You can follow it online, with the number that is on your receipt. Is there anything else "
    "that I could do for you, or is that it now?"
)
"""Four sentences of 66 characters, 267 in all, as long as the text of the reference.

What it brings to begin with the first sentence depends on how long that is beside the others.
"""
REFERENCE_MS = {"whole text": 329.3, "first sentence": 156.7}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--runs", type=count, default=7, help="of each server and mode (%(default)s)")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return (
        f"start {len(KINDS)} servers ({', '.join(KINDS)}), one warm-up each, then {options.runs} rounds of one text of "
        f"{len(TEXT)} characters on each"
    )


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return the table and the raw seconds by mode. It has failed when a player ran dry that need not."""
    runs: int = options.runs
    found: dict[str, list[client.Heard]] = {mode: [] for mode in KINDS}
    ready: dict[str, float] = {}
    progress.begin(len(KINDS) * (runs + 2))
    async with AsyncExitStack() as stack:
        addresses: dict[str, str] = {}
        for mode, kind in KINDS.items():
            progress.step(f"starting: {kind.name}")
            server = await stack.enter_async_context(servers.running(kind, options.engine))
            addresses[mode], ready[mode] = server.address, server.ready_s or 0.0
        for number in range(runs + 1):
            for mode, address in addresses.items():
                progress.step(mode)
                async with client.session(address) as socket:
                    heard = await client.speak(socket, TEXT)
                if number:  # the first round warms up
                    found[mode].append(heard)
    table = Table(
        f"Time to first audio, {len(TEXT)} characters in four sentences, median of {runs} runs (min - max)",
        (
            "where",
            "mode",
            "first audio ms",
            "min",
            "max",
            "times earlier",
            "whole answer s",
            "real-time factor",
            "dry ms, most",
            "runs dry",
        ),
    )
    base = median([heard.first_s for heard in found["whole text"]])
    for mode, answers in found.items():
        first = [heard.first_s for heard in answers]
        table.rows.append((
            f"here, {options.engine}", mode, median(first) * 1000, min(first) * 1000, max(first) * 1000,
            base / median(first),
            median([heard.total_s for heard in answers]),
            median([heard.total_s / heard.audio_s for heard in answers]),
            # a median would hide every underrun that most runs are without
            max(heard.dry_s for heard in answers) * 1000,
            sum(heard.dry_s > 0 for heard in answers),
        ))  # fmt: skip
    for mode, value in REFERENCE_MS.items():
        ratio = REFERENCE_MS["whole text"] / value
        row = ("ml.g5.xlarge, reference (another text and server)", mode, value, "", "", ratio, "", "", "", "")
        table.rows.append(row)
    table.notes.append(f"Start to ready: {', '.join(f'{mode} {seconds:.1f} s' for mode, seconds in ready.items())}.")
    table.notes.append(_settings())
    raw = {
        mode: [
            {"first_s": one.first_s, "total_s": one.total_s, "audio_s": one.audio_s, "dry_s": one.dry_s} for one in n
        ]
        for mode, n in found.items()
    }
    bars = [(float(at), median([one.first_s for one in n]) * 1000) for at, n in enumerate(found.values())]
    chart = Chart("Time to first audio", "", "ms", {options.engine: bars}, tuple(found))
    return Result(table, {"answers": raw, "ready_s": ready}, chart, _underruns(found))


def _settings() -> str:
    own = "; ".join(
        f"{mode}: {', '.join(f'{name}={value}' for name, value in kind.environment.items()) or 'none'}"
        for mode, kind in KINDS.items()
    )
    return f"Settings of their own: {own}. All else, the settings of the engine included, is this container's for all."


def _underruns(found: dict[str, list[client.Heard]]) -> str | None:
    """Say where this container let a player run dry in an answer that took less time than it plays for."""
    told = []
    for mode, answers in found.items():
        if KINDS[mode] is WHOLE_TEXT:
            continue
        dry = [heard.dry_s for heard in answers if heard.dry_s > 0 and heard.total_s < heard.audio_s]
        if dry:
            told.append(f"{mode}: {len(dry)} of {len(answers)} runs, up to {max(dry) * 1000:.0f} ms")
    return f"a player ran dry although speech was faster than real time ({'; '.join(told)})" if told else None
