"""How long GET /ping and a WebSocket Pong take while all cores synthesise. SageMaker waits 2 s for the one."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx
from websockets.asyncio.client import ClientConnection

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS
from emulator.arguments import seconds

BUSY_SESSIONS = 4
PAUSE_S = 0.05
LIMIT_MS = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--seconds", type=seconds, default=30, help="of load (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return (
        f"one server, {BUSY_SESSIONS} sessions that always ask for more; /ping and a WebSocket ping every "
        f"{PAUSE_S * 1000:.0f} ms for {options.seconds:g} s, idle and busy; fails at {LIMIT_MS} ms (p99, busy)"
    )


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return the table and the raw seconds. It has failed when an answer under load takes too long."""
    table = Table(
        f"Answers while {BUSY_SESSIONS} sessions keep all cores busy, {options.seconds:g} s",
        ("what", "state", "answers", "p50 ms", "p95 ms", "p99 ms", "max ms"),
    )
    raw: dict[str, list[float]] = {}
    progress.begin(2)
    async with (
        servers.target(OURS, options.engine, options.url) as server,
        httpx.AsyncClient(base_url=server.url, timeout=60) as http,
    ):
        for state, sessions in (("idle", 0), ("busy", BUSY_SESSIONS)):
            progress.step(state)
            busy = [asyncio.create_task(_keep_busy(server.address)) for _ in range(sessions)]
            await asyncio.sleep(1 if sessions else 0)

            async def ping() -> None:
                (await http.get("/ping")).raise_for_status()

            async with client.session(server.address) as socket:

                async def pong(socket: ClientConnection = socket) -> None:
                    await (await socket.ping())

                found = await asyncio.gather(_repeat(ping, options.seconds), _repeat(pong, options.seconds))
            stopped = [task for task in busy if task.done()]
            for task in busy:
                task.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
            for task in stopped:
                task.result()  # a server that was not kept busy was not measured
            for what, times in zip(("GET /ping", "WebSocket Pong"), found, strict=True):
                shares = (percentile(times, share) * 1000 for share in (0.95, 0.99))
                table.rows.append((what, state, len(times), median(times) * 1000, *shares, max(times) * 1000))
                raw[f"{what}, {state}"] = times
    table.notes.append("The client shares the cores with the server, so its own delays are in these figures.")
    worst = max(percentile(raw[f"{what}, busy"], 0.99) * 1000 for what in ("GET /ping", "WebSocket Pong"))
    table.notes.append(f"p99 while busy at most {worst:.0f} ms; it has to be below {LIMIT_MS} ms.")
    failed = None if worst < LIMIT_MS else f"p99 while busy is {worst:.0f} ms, it has to be below {LIMIT_MS} ms"
    return Result(table, raw, failed=failed)


async def _keep_busy(address: str) -> None:
    async with client.session(address) as socket:
        while True:
            await client.speak(socket, client.TEXT)


async def _repeat(action: Callable[[], Awaitable[None]], seconds: float) -> list[float]:
    times: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        await action()
        times.append(time.monotonic() - begun)
        await asyncio.sleep(PAUSE_S)
    return times
