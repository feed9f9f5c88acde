"""Memory and slots over many sentences of many lengths and over rude disconnects: it has to stay flat."""

import json
import random
import socket as sockets
import struct
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from container.kokoro.bench import client
from container.kokoro.bench.report import Table
from container.kokoro.bench.servers import OURS, running

STEPS = 5
_SENTENCE = "one river ran under seven bridges while quiet people walked along its old stones and talked of rain"
_WORDS = _SENTENCE.split()


def plan(sentences: int, disconnects: int) -> str:
    """Say what would be done."""
    return f"one server; {sentences} sentences of 1 to 18 words in {STEPS} steps, then {disconnects} rude disconnects"


async def measure(engine: str, sentences: int, disconnects: int) -> tuple[Table, dict[str, Any]]:
    """Return the table and the raw figures."""
    table = Table(
        f"Memory of the server over {sentences} sentences and {disconnects} rude disconnects",
        ("after", "resident MB", "sessions", "waiting", "in flight"),
    )
    chance = random.Random(5)  # noqa: S311  # the same lengths every time
    async with running(OURS, engine) as server, httpx.AsyncClient(base_url=server.url, timeout=60) as http:

        async def row(after: str) -> None:
            table.rows.append((after, server.resident_mb, *(await _slots(http))))

        await row("start")
        for step in range(STEPS):
            async with client.session(server.port) as socket:
                for _ in range(sentences // STEPS):
                    await client.speak(socket, " ".join(_WORDS[: chance.randint(1, len(_WORDS))]).capitalize() + ".")
            await row(f"{(step + 1) * (sentences // STEPS)} sentences")
        for number in range(disconnects):
            async with client.session(server.port) as socket:
                await socket.send(json.dumps({"text": client.TEXT}))
                if number % 2:
                    await socket.recv()
                raw = socket.transport.get_extra_info("socket")
                raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
                socket.transport.abort()
        async with client.session(server.port) as socket:
            await client.speak(socket, "The server still speaks.")
        await row(f"{disconnects} disconnects")
    growth = [a[1] - b[1] for a, b in zip(table.rows[-1:], table.rows[2:3], strict=True)]  # type: ignore[operator]
    table.notes.append(f"Growth after the first step: {growth[0]:.0f} MB.")
    return table, {"rows": [list(row) for row in table.rows]}


async def _slots(http: httpx.AsyncClient) -> tuple[int, int, int]:
    """Return open sessions, waiting sentences and requests in flight, from /metrics."""
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    values = {"kokoro_sessions": 0.0, "kokoro_waiting": 0.0, "kokoro_requests_in_flight": 0.0}
    for family in families:
        for sample in family.samples:
            if sample.name in values:
                values[sample.name] += sample.value
    sessions, waiting, flying = map(int, values.values())
    return sessions, waiting, flying
