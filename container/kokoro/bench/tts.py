"""Time to first audio: whole text, first sentence, first clause, on three servers in interleaved rounds."""

from contextlib import AsyncExitStack
from typing import Any

from container.kokoro.bench import client
from container.kokoro.bench.report import Table, median
from container.kokoro.bench.servers import NAIVE, OURS, OURS_BY_SENTENCE, Kind, running

KINDS = {"whole text": NAIVE, "first sentence": OURS_BY_SENTENCE, "first clause": OURS}
REFERENCE_MS = {"whole text": 329.3, "first sentence": 156.7}


def plan(runs: int) -> str:
    """Say what would be done."""
    return (
        f"start {len(KINDS)} servers ({', '.join(KINDS)}), one warm-up each, then {runs} rounds of one text of "
        f"{len(client.TEXT)} characters on each"
    )


async def measure(engine: str, runs: int) -> tuple[Table, dict[str, Any]]:
    """Return the table and the raw seconds by mode."""
    found: dict[str, list[client.Heard]] = {mode: [] for mode in KINDS}
    ready: dict[str, float] = {}
    async with AsyncExitStack() as stack:
        ports: dict[str, int] = {}
        for mode, kind in KINDS.items():
            server = await stack.enter_async_context(running(Kind(kind.name, kind.module, kind.environment), engine))
            ports[mode], ready[mode] = server.port, server.ready_s
        for number in range(runs + 1):
            for mode, port in ports.items():
                async with client.session(port) as socket:
                    heard = await client.speak(socket, client.TEXT)
                if number:  # the first round warms up
                    found[mode].append(heard)
    table = Table(
        f"Time to first audio, {len(client.TEXT)} characters in four sentences, median of {runs} runs (min - max)",
        (
            "where",
            "mode",
            "first audio ms",
            "min",
            "max",
            "times earlier",
            "whole answer s",
            "real-time factor",
            "dry ms",
        ),
    )
    base = median([heard.first_s for heard in found["whole text"]])
    for mode, answers in found.items():
        first = [heard.first_s for heard in answers]
        table.rows.append((
            f"here, {engine}", mode, median(first) * 1000, min(first) * 1000, max(first) * 1000, base / median(first),
            median([heard.total_s for heard in answers]),
            median([heard.total_s / heard.audio_s for heard in answers]),
            median([heard.dry_s for heard in answers]) * 1000,
        ))  # fmt: skip
    for mode, value in REFERENCE_MS.items():
        ratio = REFERENCE_MS["whole text"] / value
        row = ("ml.g5.xlarge, reference (another text and server)", mode, value, "", "", ratio, "", "", "")
        table.rows.append(row)
    table.notes.append(f"Start to ready: {', '.join(f'{mode} {seconds:.1f} s' for mode, seconds in ready.items())}.")
    raw = {mode: [vars(heard) for heard in answers] for mode, answers in found.items()}
    return table, {"answers": raw, "ready_s": ready}
