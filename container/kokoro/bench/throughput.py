"""Audio-hours per hour with 1, 2, 4, 8 sessions that always ask for more, beside a naive server on the same weights."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from container.kokoro.bench import client
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.servers import NAIVE, OURS, running

KINDS = (NAIVE, OURS)
SESSIONS = (1, 2, 4, 8)


def plan(seconds: float, sessions: Sequence[int]) -> str:
    """Say what would be done."""
    return f"for each of {len(KINDS)} servers: {', '.join(map(str, sessions))} sessions, at least {seconds:g} s each"


async def measure(engine: str, seconds: float, numbers: Sequence[int]) -> tuple[Table, dict[str, Any]]:
    """Return the table and the raw figures."""
    table = Table(
        f"Throughput: sessions that ask for {len(client.TEXT)} characters after the other, at least {seconds:g} s each",
        ("server", "sessions", "audio-hours per hour", "times the naive", "first audio p50 ms", "p95 ms"),
    )
    base: dict[int, float] = {}
    raw: list[dict[str, Any]] = []
    for kind in KINDS:
        async with running(kind, engine) as server:
            async with client.session(server.port) as socket:
                await client.speak(socket, client.TEXT)  # warm-up
            for sessions in numbers:
                rate, first = await _load(server.port, sessions, seconds)
                base.setdefault(sessions, rate)
                table.rows.append((
                    kind.name, sessions, rate, rate / base[sessions],
                    median(first) * 1000, percentile(first, 0.95) * 1000,
                ))  # fmt: skip
                raw.append({"server": kind.name, "sessions": sessions, "rate": rate, "first_s": first})
    return table, {"runs": raw}


async def _load(port: int, sessions: int, seconds: float) -> tuple[float, list[float]]:
    """Return audio seconds per second over the time in which all sessions were busy, and the times to first audio."""
    begun = time.monotonic()
    first: list[float] = []
    audio = 0.0

    async def one() -> None:
        nonlocal audio
        async with client.session(port) as socket:
            while time.monotonic() - begun < seconds:
                heard = await client.speak(socket, client.TEXT)
                first.append(heard.first_s)
                audio += heard.audio_s

    await asyncio.gather(*(one() for _ in range(sessions)))
    return audio / (time.monotonic() - begun), first
