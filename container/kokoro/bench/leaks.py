"""Memory, slots and speed over many sentences and after clients that behave badly: all has to stay flat."""

import argparse
import asyncio
import json
import random
import time

import httpx
from prometheus_client.parser import text_string_to_metric_families

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS, Kind, Running
from emulator.arguments import count, whole
from emulator.bench.chart import Chart

STEPS = 5
PATIENCE_S = 10.0
GROWTH = 0.25
"""Share of the memory after the start by which it may grow; at full length it was 10.5 %."""
TIGHT = Kind(OURS.name, environment={"KOKORO_MAX_SESSIONS": "4", "KOKORO_MAX_WAITING": "4"})
"""Few slots: whoever leaks one is caught at once."""
MALFORMED = (
    b"",
    b"\xff",
    b"[]",
    b"not json",
    b'{"text": 5}',
    b'{"text": "x", "voice": []}',
    b'{"text": "x", "speed": 0}',
)
_SENTENCE = "one river ran under seven bridges while quiet people walked along its old stones and talked of rain"
_WORDS = _SENTENCE.split()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--sentences", type=count, default=1000, help="that are spoken first (%(default)s)")
    parser.add_argument("--disconnects", type=whole, default=200, help="rude ones, in mid-sentence (%(default)s)")
    parser.add_argument("--malformed", type=whole, default=100, help="HTTP bodies (%(default)s)")
    parser.add_argument("--aborted", type=whole, default=100, help="HTTP streams (%(default)s)")
    parser.add_argument("--url", help="a server that runs already, in place of one of its own")


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    return (
        f"one server of four slots, warmed up by four long texts at once; {options.sentences} sentences of 1 to "
        f"{len(_WORDS)} words in {STEPS} steps, then {options.disconnects} rude disconnects, {options.malformed} "
        f"malformed bodies, {options.aborted} aborted streams; fails when a slot is not free, or memory grows by more "
        f"than {GROWTH:.0%}"
    )


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return the table and the raw figures. It has failed when a slot is not free, or memory grew."""
    table = Table(
        f"Memory and slots of the server over {options.sentences} sentences and clients that behave badly",
        ("after", "resident MB", "sessions", "waiting", "in flight", "first audio p50 ms"),
    )
    chance = random.Random(5)  # noqa: S311  # the same lengths every time
    progress.begin(STEPS + 4)
    async with (
        servers.target(TIGHT, options.engine, options.url) as server,
        httpx.AsyncClient(base_url=server.url, timeout=60) as http,
    ):

        async def row(after: str, first: list[float]) -> None:
            await _settled(http)
            table.rows.append((after, *(await _state(http)), median(first) * 1000))

        # once the most that ever happens at a time: what is taken for that is kept
        await asyncio.gather(*(_probe(server, client.TEXT) for _ in range(4)))
        await row("start", [await _probe(server)])
        for step in range(STEPS):
            progress.step("sentences")
            first: list[float] = []
            async with client.session(server.address) as socket:
                for _ in range(options.sentences // STEPS):
                    words = " ".join(_WORDS[: chance.randint(1, len(_WORDS))]).capitalize() + "."
                    first.append((await client.speak(socket, words)).first_s)
            await row(f"{(step + 1) * (options.sentences // STEPS)} sentences", first)
        for what, number, misbehave in (
            ("rude disconnects", options.disconnects, _disconnect),
            ("malformed bodies", options.malformed, _malformed),
            ("aborted streams", options.aborted, _abort),
        ):
            progress.step(what)
            for turn in range(number):
                await misbehave(server, http, turn)
            await _settled(http)
            # as many at once as there are slots
            answers = await asyncio.gather(*(_probe(server) for _ in range(4)))
            await row(f"{number} {what}", answers)
    memory = [float(str(line[1])) for line in table.rows]
    # not every system tells a process's memory: 0 is none
    growth = max(memory) / memory[0] - 1 if memory[0] else None
    told = "" if growth is None else f", {growth:.1%}; at most {GROWTH:.0%}"
    table.notes.append(f"Growth since the start: {memory[-1] - memory[0]:.0f} MB (most {max(memory):.0f} MB{told}).")
    busy = [f"{line[0]}: {line[2:5]}" for line in table.rows if any(line[2:5])]
    chart = Chart("Memory", "step", "MB", {"resident": [(float(n), m) for n, m in enumerate(memory)]})
    wrong = [f"slots are not free after {'; '.join(busy)} (sessions, waiting, in flight)"] if busy else []
    if growth is not None and growth > GROWTH:
        wrong.append(f"memory grew by {growth:.1%} since the start, by more than {GROWTH:.0%}")
    return Result(table, {"rows": [list(line) for line in table.rows]}, chart, "; ".join(wrong) or None)


async def _probe(server: Running, text: str = "The server still speaks.") -> float:
    async with client.session(server.address) as socket:
        return (await client.speak(socket, text)).first_s


async def _disconnect(server: Running, http: httpx.AsyncClient, turn: int) -> None:
    del http
    async with client.session(server.address) as socket:
        await socket.send(json.dumps({"text": client.TEXT}))
        if turn % 2:
            await socket.recv()
        client.reset(socket.transport)


async def _malformed(server: Running, http: httpx.AsyncClient, turn: int) -> None:
    del server
    body = MALFORMED[turn % len(MALFORMED)]
    answer = await http.post("/invocations", content=body)
    if answer.status_code != httpx.codes.BAD_REQUEST:
        raise RuntimeError(f"the body {body!r} is answered with {answer.status_code}, expected 400")


async def _abort(server: Running, http: httpx.AsyncClient, turn: int) -> None:
    del http
    body = json.dumps({"text": client.TEXT}).encode()
    host, port = server.address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    if turn % 2:
        await reader.readuntil(b"\r\n\r\n")  # the answer has begun
    client.reset(writer.transport)


async def _settled(http: httpx.AsyncClient) -> None:
    """Give the server a moment to notice that connections are gone."""
    end = time.monotonic() + PATIENCE_S
    while any((await _state(http))[1:]) and time.monotonic() < end:  # noqa: ASYNC110  # the server is another process
        await asyncio.sleep(0.05)


async def _state(http: httpx.AsyncClient) -> tuple[float, int, int, int]:
    """Return resident MB, open sessions, waiting sentences and requests in flight, from /metrics."""
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    names = ("process_resident_memory_bytes", "kokoro_sessions", "kokoro_waiting", "kokoro_requests_in_flight")
    values = dict.fromkeys(names, 0.0)
    for family in families:
        for sample in family.samples:
            if sample.name in values:
                values[sample.name] += sample.value
    memory, sessions, waiting, flying = values.values()
    return round(memory / 1e6, 1), int(sessions), int(waiting), int(flying)
