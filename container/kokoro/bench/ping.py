"""How long GET /ping and a WebSocket Pong take while all cores synthesise. SageMaker waits 2 s for the one."""

import asyncio
import time
from typing import Any

import httpx

from container.kokoro.bench import client
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.servers import OURS, running

BUSY_SESSIONS = 4
PAUSE_S = 0.05


def plan(seconds: float) -> str:
    """Say what would be done."""
    return (
        f"one server, {BUSY_SESSIONS} sessions that always ask for more; /ping and a WebSocket ping every "
        f"{PAUSE_S * 1000:.0f} ms for {seconds:g} s, idle and busy"
    )


async def measure(engine: str, seconds: float) -> tuple[Table, dict[str, Any]]:
    """Return the table and the raw seconds."""
    table = Table(
        f"Answers while {BUSY_SESSIONS} sessions keep all cores busy, {seconds:g} s",
        ("what", "state", "answers", "p50 ms", "p95 ms", "p99 ms", "max ms"),
    )
    raw: dict[str, list[float]] = {}
    async with running(OURS, engine) as server, httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        for state, sessions in (("idle", 0), ("busy", BUSY_SESSIONS)):
            busy = [asyncio.create_task(_keep_busy(server.port)) for _ in range(sessions)]
            await asyncio.sleep(1 if sessions else 0)

            async def ping() -> None:
                (await http.get("/ping")).raise_for_status()

            async with client.session(server.port) as socket:

                async def pong(socket: Any = socket) -> None:
                    await (await socket.ping())

                found = await asyncio.gather(_repeat(ping, seconds), _repeat(pong, seconds))
            for task in busy:
                task.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
            for what, times in zip(("GET /ping", "WebSocket Pong"), found, strict=True):
                shares = (percentile(times, share) * 1000 for share in (0.95, 0.99))
                table.rows.append((what, state, len(times), median(times) * 1000, *shares, max(times) * 1000))
                raw[f"{what}, {state}"] = times
    table.notes.append("The client shares the cores with the server, so its own delays are in these figures.")
    return table, raw


async def _keep_busy(port: int) -> None:
    async with client.session(port) as socket:
        while True:
            await client.speak(socket, client.TEXT)


async def _repeat(action: Any, seconds: float) -> list[float]:
    times: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        await action()
        times.append(time.monotonic() - begun)
        await asyncio.sleep(PAUSE_S)
    return times
