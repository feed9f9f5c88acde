"""Audio-hours per hour with 1, 2, 4, 8 sessions that always ask for more, beside two peers on the same weights."""

import argparse
import dataclasses
from contextlib import AsyncExitStack
from typing import Any

from container.kokoro.bench import client, load, package, servers
from container.kokoro.bench.load import Rung
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, percentile
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import NAIVE, OURS, Kind
from emulator.arguments import count, seconds
from emulator.bench.chart import Chart

SESSIONS = (1, 2, 4, 8)
PEERS = ("kokoro-onnx", "naive")
AIM = 1.3
"""Times the better peer. Told, and no failure: on a machine that others use, too, one run proves neither."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--seconds", type=seconds, default=60, help="for each number of sessions (%(default)s)")
    parser.add_argument("--sessions", type=count, nargs="+", metavar="N", help=load.sessions_help(SESSIONS))
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument(
        "--peers", nargs="*", default=list(PEERS), choices=PEERS, help="measured beside this container (%(default)s)"
    )
    beside.add_argument("--url", action=_Alone, help="a server that runs already, and nothing beside it")


class _Alone(argparse.Action):
    """A server that is given has no peers, in the recorded conditions either: they would be of another machine."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Take the URL."""
        del parser, option_string
        namespace.url, namespace.peers = values, []


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    names = [*options.peers, options.url or OURS.name]
    built = f"build an environment with kokoro-onnx {package.VERSION}; " if "kokoro-onnx" in options.peers else ""
    loads = ", ".join(map(str, options.sessions))
    return f"{built}for each of {', '.join(names)}: {loads} sessions, at least {options.seconds:g} s each"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return the table and the raw figures.

    All servers are up; with each number of sessions they are asked one after the other, since a machine that is shared
    changes its pace from minute to minute.
    """
    found: dict[tuple[str, int], Rung] = {}
    async with AsyncExitStack() as stack:
        kinds = _kinds(options, stack)
        progress.begin(len(kinds) * len(options.sessions))
        up = [await stack.enter_async_context(servers.target(kind, options.engine, options.url)) for kind in kinds]
        for server in up:
            await client.warm_up(server.address)
        for sessions in options.sessions:
            for kind, server in zip(kinds, up, strict=True):
                progress.step(f"{server.name}, {sessions} sessions")
                before = server.processor_s
                rung = await load.closed(server.address, sessions, options.seconds, (client.TEXT,))
                if before is not None and (after := server.processor_s) is not None:
                    rung = dataclasses.replace(rung, processor_s=after - before)
                found[kind.name, sessions] = rung
    found = {(kind.name, sessions): found[kind.name, sessions] for kind in kinds for sessions in options.sessions}
    peers = [kind.name for kind in kinds if kind is not OURS]
    return Result(_table(options, found, peers), _raw(found), _chart(found))


def _kinds(options: argparse.Namespace, stack: AsyncExitStack) -> list[Kind]:
    kinds = []
    if "kokoro-onnx" in options.peers and options.engine == "onnx":
        kinds.append(stack.enter_context(package.kind()))
    if "naive" in options.peers:
        kinds.append(NAIVE)
    return [*kinds, OURS]


def _table(options: argparse.Namespace, found: dict[tuple[str, int], Rung], peers: list[str]) -> Table:
    length = len(client.TEXT)
    table = Table(
        f"Throughput: sessions that ask for {length} characters after the other, at least {options.seconds:g} s each",
        (
            "server", "sessions", "audio-hours per hour", "characters/s", "times the better peer", "by text",
            "core-seconds per audio second", "first audio p50 ms", "p95 ms", "whole answer p50 s",
        ),
    )  # fmt: skip
    ratios: dict[int, float] = {}
    for (name, sessions), rung in found.items():
        text_rate = rung.characters / rung.elapsed_s
        times = by_text = None
        rivals = [found[peer, sessions] for peer in peers]
        if rivals and name == OURS.name:
            times = rung.audio_rate / max(rival.audio_rate for rival in rivals)
            by_text = text_rate / max(rival.characters / rival.elapsed_s for rival in rivals)
            ratios[sessions] = min(times, by_text)
        table.rows.append((
            name, sessions, rung.audio_rate, text_rate, "" if times is None else times,
            "" if by_text is None else by_text, rung.processor_factor, rung.first_p50 * 1000, rung.first_p95 * 1000,
            percentile(rung.total_s, 0.5),
        ))  # fmt: skip
    if ratios:
        table.notes.append(
            f"At best {max(ratios.values()):.2f} times the better peer, by audio and by text, whichever is less: "
            "servers that trim more silence make less audio of the same text."
        )
        short = ", ".join(f"{ratio:.2f} with {n}" for n, ratio in ratios.items() if ratio < AIM)
        reached = f"not reached: {short} sessions" if short else "reached with every number of sessions"
        table.notes.append(f"The aim, {AIM:g} times the better peer, is {reached}.")
    if options.url:
        table.notes.append(f"'{OURS.name}' is what runs at {options.url}.")
    return table


def _raw(found: dict[tuple[str, int], Rung]) -> dict[str, Any]:
    return {"rungs": [{"server": name, **rung.data()} for (name, _), rung in found.items()]}


def _chart(found: dict[tuple[str, int], Rung]) -> Chart:
    series: dict[str, list[tuple[float, float]]] = {}
    for (name, sessions), rung in found.items():
        series.setdefault(name, []).append((float(sessions), rung.audio_rate))
    return Chart("Throughput", "sessions", "audio-hours per hour", series)
