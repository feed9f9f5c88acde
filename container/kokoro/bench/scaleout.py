"""How long new capacity takes: stages of a start, and a second instance that comes to the aid of a loaded one.

Each instance has one thread here, so that the second one adds what the first one lacks. What a cloud adds before the
process starts (provisioning, pull of the image) can be given with --before.
"""

import argparse
import asyncio
import time

from container.kokoro.bench import client, servers
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table, median
from container.kokoro.bench.result import Result
from container.kokoro.bench.servers import OURS, Kind
from emulator.arguments import amount, count, seconds, whole
from emulator.bench.chart import Chart

ONE_THREAD = Kind(OURS.name, environment={"KOKORO_THREADS": "1"})
RECOVERED = 0.75
"""Share of the loaded median that counts as recovered."""
_TEXT = "Shall I read that to you once more, or is there anything else?"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--runs", type=count, default=5, help="starts (%(default)s)")
    parser.add_argument("--sessions", type=whole, default=6, help="that load the first instance; 0: none (%(default)s)")
    parser.add_argument("--seconds", type=seconds, default=20, help="of load before the second starts (%(default)s)")
    parser.add_argument("--patience", type=seconds, default=120, help="seconds to wait for the recovery (%(default)s)")
    parser.add_argument(
        "--before", type=amount, default=0.0, metavar="SECONDS", help="provisioning and pull, added (%(default)s)"
    )


def plan(options: argparse.Namespace) -> str:
    """Say what would be done."""
    loaded = (
        f"; then {options.sessions} sessions on one instance of one thread, after {options.seconds:g} s a second one"
        if options.sessions
        else ""
    )
    return f"{options.runs} starts: until the port answers, /ping says 200, audio is heard{loaded}"


async def measure(options: argparse.Namespace, progress: Progress) -> Result:
    """Return a row for each stage."""
    progress.begin(options.runs + (1 if options.sessions else 0))
    stages: dict[str, list[float]] = {"port answers": [], "ready (/ping 200)": [], "first audio": []}
    for _ in range(options.runs):
        progress.step("start")
        begun = time.monotonic()
        async with servers.running(OURS, options.engine) as server:
            async with client.session(server.address) as socket:
                asked = time.monotonic()
                heard = await client.speak(socket, _TEXT)
            stages["port answers"].append(server.open_s or 0.0)
            stages["ready (/ping 200)"].append(server.ready_s or 0.0)
            stages["first audio"].append(asked + heard.first_s - begun)
    table = Table(
        f"Scale-out: seconds from the start of the process, {options.runs} starts", ("stage", "p50 s", "min", "max")
    )
    for stage, took in stages.items():
        table.rows.append((stage, median(took), min(took), max(took)))
    raw: dict[str, object] = {"stages": stages, "before_s": options.before}
    if options.before:
        table.rows.append(("with what comes before", options.before + median(stages["first audio"]), "", ""))
    chart = failed = None
    if options.sessions:
        progress.step("a second instance")
        aid = await _aid(options)
        raw["aid"] = aid.data()
        chart = aid.chart()
        table.rows.append(("second instance under load: ready", aid.ready_s, "", ""))
        table.rows.append(("second instance under load: recovered", aid.recovered_s, "", ""))
        table.notes.append(
            f"Loaded by {options.sessions} sessions, first audio p50 {aid.loaded_s * 1000:.0f} ms; recovered is when "
            f"the last {2 * options.sessions} answers have a median below {RECOVERED:.0%} of it."
        )
        if aid.recovered_s is None:
            failed = f"no recovery within {options.patience:g} s"
    return Result(table, raw, chart, failed)


class _Aid:
    """Answers over time, and when the second instance joined."""

    def __init__(self, sessions: int) -> None:
        self.answers: list[tuple[float, float]] = []
        """Moment and seconds to first audio."""
        self._window = 2 * sessions
        self.started = 0.0
        self.joined: float | None = None

    @property
    def loaded_s(self) -> float:
        """Median before the second instance started."""
        return median([first for at, first in self.answers if at < self.started])

    @property
    def ready_s(self) -> float | None:
        """From the start of the second instance to its first 200."""
        return None if self.joined is None else self.joined - self.started

    @property
    def recovered_s(self) -> float | None:
        """From the start of the second instance to the recovery; None when it did not come."""
        after = [(at, first) for at, first in self.answers if self.joined is not None and at > self.joined]
        for end in range(self._window, len(after) + 1):
            if median([first for _, first in after[end - self._window : end]]) <= RECOVERED * self.loaded_s:
                return after[end - 1][0] - self.started
        return None

    def data(self) -> dict[str, object]:
        answers = [(at - self.started, first) for at, first in self.answers]
        return {"ready_s": self.ready_s, "recovered_s": self.recovered_s, "answers": answers}

    def chart(self) -> Chart:
        points = [(round(at - self.started, 1), first * 1000) for at, first in self.answers]
        return Chart("A second instance comes", "seconds since its start", "first audio, ms", {"answers": points})


async def _aid(options: argparse.Namespace) -> _Aid:
    aid = _Aid(options.sessions)
    stop = asyncio.Event()
    load: dict[str, int] = {}

    async def one() -> None:
        while not stop.is_set():
            address = min(load, key=lambda name: load[name])  # least outstanding requests
            load[address] += 1
            async with client.session(address) as socket:
                heard = await client.speak(socket, _TEXT)
            load[address] -= 1
            aid.answers.append((time.monotonic(), heard.first_s))

    async def second() -> None:
        async with servers.running(ONE_THREAD, options.engine) as server:
            aid.joined = time.monotonic()
            load[server.address] = 0
            try:
                async with asyncio.timeout(options.patience):
                    while aid.recovered_s is None:  # noqa: ASYNC110  # asked again after each answer
                        await asyncio.sleep(0.1)
            except TimeoutError:
                pass
            stop.set()
            await users

    async with servers.running(ONE_THREAD, options.engine) as first:
        await client.warm_up(first.address, _TEXT)
        load[first.address] = 0
        users = asyncio.gather(*(one() for _ in range(options.sessions)))
        await asyncio.sleep(options.seconds)
        while not aid.answers:  # noqa: ASYNC110  # a slow machine
            await asyncio.sleep(0.1)
        aid.started = time.monotonic()
        await second()
    return aid
