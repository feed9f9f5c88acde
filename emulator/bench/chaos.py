"""Random combinations of faults, one session each: after every one a fresh session works, and nothing is left behind.

``python -m emulator.bench.chaos --scenarios 500 --seed 1``. A scenario is repeated by its own seed, which the report
of a failure names: ``--scenarios 1 --seed N``. Now and then the container is a process that is killed or frozen in
mid-session, or a session is cut by hand.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from h2.exceptions import ProtocolError

from emulator import CloseFault, Endpoint, Faults, Server, Switches, started
from emulator.controlplane.container import ContainerSpec, LocalCommand
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container
from emulator.tests.faulty import PatientClient, client_of, descriptors, works

__all__ = ["ChaosError", "Tally", "random_faults", "run"]

_NAME = re.compile(r"(?<=fault: )(cut now|[a-z_]+8?)")
_CHANCE = 0.2
_PATIENCE = 10.0
# a grace, so that answers come too; short times, so that a frozen container is cut soon
_SWITCHES = Switches(
    signatures="off", client_end_grace=0.02, ping_interval=0.2, ping_misses=3, close_timeout=1.0, accept_timeout=2.0
)


class ChaosError(Exception):
    """Raised when a scenario left something behind, or a session after it does not work. Names its seed."""


@dataclass
class Tally:
    """What a run has met. ``faults`` counts the scenarios in which a fault acted, by its name."""

    scenarios: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)


def random_faults(random: Random) -> Faults:
    """Return any combination; times are short, so that hundreds of them are over soon."""
    count = random.randint(1, 4)
    values: dict[str, Any] = {
        "data_type": random.choice(["omit", "UTF8", "BINARY"]),
        "never_complete": random.choice(["run", count]),
        "empty_frame": count,
        "invalid_utf8": random.randint(1, 4),
        "split": random.randint(1, 4),
        "merge": random.randint(1, 6),
        "drop_part": random.randint(1, 4),
        "duplicate_part": random.randint(1, 4),
        "corrupt_crc": random.randint(1, 4),
        "throttle": random.random() < _CHANCE,
        "refuse_upgrade": random.random() < _CHANCE,
        "accept_delay": random.uniform(0, 0.02),
        "withhold_pongs": random.choice(["sent", "received", "both"]),
        "ping_storm": random.uniform(0.001, 0.01),
        "close": CloseFault(random.choice([1000, 1001, 1011, 4000]), "chaos", random.randint(0, 6)),
        "cut_after": random.uniform(0, 0.05),
        "reset_after": random.randint(0, 4),
        "drop_client": random.randint(0, 4),
        "bandwidth": random.uniform(1_000, 100_000),
        "jitter": random.uniform(0, 0.01),
    }
    return Faults(**{name: value for name, value in values.items() if random.random() < _CHANCE})


async def run(scenarios: int, seed: int, state: Path, *, process_every: int = 25) -> Tally:
    """Run scenarios ``seed`` to ``seed + scenarios - 1``; every so many is one with a process (0: none).

    Raises:
        ChaosError: the first that left something behind.
    """
    tally = Tally()
    async with (
        container() as target,
        Server({"ep": Endpoint(target.url)}, switches=_SWITCHES, state_directory=state) as server,
    ):
        async with client_of(server, server.certificates.ca) as client:  # what is made once is there after it
            await works(client)
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=0.2)
        before = _Leftovers.now()
        for number in range(seed, seed + scenarios):
            random = Random(number)  # noqa: S311  # repeatable, not secret
            try:
                async with asyncio.timeout(60):
                    if process_every and number % process_every == 0:
                        await _process_scenario(server, random, tally)
                    else:
                        await _scenario(server, random, number, tally)
                    async with client_of(server, server.certificates.ca) as client:
                        await works(client)
                    await before.settle()
            except Exception as error:
                raise ChaosError(f"scenario {number}: {error!r}") from error
            tally.scenarios += 1
    return tally


async def _scenario(server: Server, random: Random, number: int, tally: Tally) -> None:
    server.faults.set(random_faults(random), seed=number)
    cut = random.random() < _CHANCE
    async with client_of(server, server.certificates.ca) as client:
        with contextlib.suppress(OSError):  # dropped before anything could be said
            tally.ends[await _talk(client, random, server if cut else None)] += 1
    server.faults.set(None)
    notes = [entry.text for entry in server.data_plane.traces[-1].entries if entry.text.startswith("fault: ")]
    tally.faults.update({name[0] for note in notes if (name := _NAME.search(note))})


async def _talk(client: PatientClient, random: Random, cutting: Server | None) -> str:
    """Send a few parts, then the end of the input, and read until there is an end; returns it."""
    stream = await client.open()
    if await client.status(stream) == 200:
        # what the emulator has ended already cannot be sent to any more
        with contextlib.suppress(ProtocolError, OSError):
            for part in range(random.randint(0, 6)):
                state = random.choice([None, "PARTIAL", "COMPLETE"])
                await client.send(stream, event(b"%d" % part, random.choice([None, "UTF8", "BINARY"]), state))
            if cutting is not None:
                await cutting.data_plane.cut(client.headers(stream)["x-amzn-requestid"])
            await client.send(stream, END_OF_INPUT, end=True)
    while not isinstance(ended := await client.next(stream), str) or ended == "wrong CRC":
        pass
    return ended


async def _process_scenario(server: Server, random: Random, tally: Tally) -> None:
    """Kill or freeze a container that is a process, while a session talks to it."""
    fault = random.choice(["kill", "freeze", "freeze and resume"])
    async with _process() as command:
        server.registry.put("process", Endpoint(command.url))
        try:
            async with client_of(server, server.certificates.ca) as client:
                stream = await client.open("process")
                await client.status(stream)
                await client.send(stream, event(b"before", "UTF8"))
                await client.message(stream)
                started.apply(command.url, "kill" if fault == "kill" else "freeze")
                await client.send(stream, event(b"after", "UTF8"))
                if fault == "freeze and resume":
                    started.apply(command.url, "resume")
                    if (await client.message(stream)).payload != b"after":
                        raise ChaosError("a container that was frozen lost a message")
                    await client.send(stream, END_OF_INPUT, end=True)
                while not isinstance(ended := await client.next(stream), str):
                    pass
        finally:
            server.registry.remove("process")
    tally.faults[fault] += 1
    tally.ends[ended] += 1


@contextlib.asynccontextmanager
async def _process() -> AsyncIterator[LocalCommand]:
    arguments = "-m uvicorn emulator.bench.container:app --log-level warning --port {port}"
    command = await LocalCommand.start(f"{sys.executable} {arguments}", ContainerSpec("echo", {}))
    started.register(command.url, command)
    try:
        port = int(command.url.rsplit(":", 1)[1])
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    await writer.wait_closed()
                    break
                await asyncio.sleep(0.05)  # another process: there is no event to wait for
        yield command
    finally:
        started.forget(command.url, command)
        await command.stop(5)


@dataclass(frozen=True)
class _Leftovers:
    """What is there between two scenarios: tasks, open files (sockets among them) and children."""

    tasks: frozenset[asyncio.Task[Any]]
    files: int
    children: frozenset[int]

    @classmethod
    def now(cls) -> "_Leftovers":
        return cls(frozenset(asyncio.all_tasks()), descriptors(), _children())

    async def settle(self) -> None:
        """Wait until nothing more is there than was.

        Raises:
            ChaosError: something stays.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            tasks = asyncio.all_tasks() - self.tasks
            files, children = descriptors() - self.files, _children() - self.children
            if not tasks and files <= 0 and not children:
                return
            if time.monotonic() > until:
                raise ChaosError(
                    f"left behind after {_PATIENCE:g} s: {len(tasks)} tasks {[str(task) for task in tasks][:3]}, "
                    f"{files} file descriptors, {len(children)} processes"
                )
            await asyncio.sleep(0.001)  # nothing tells when a loop has closed a socket


def _children() -> frozenset[int]:
    mine = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):  # it has just ended
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                mine.add(int(stat.parent.name))
    return frozenset(mine)


def main() -> int:
    """Run the scenarios and print what they met."""
    parser = argparse.ArgumentParser(prog="python -m emulator.bench.chaos", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1, help="of the first scenario; the next one has the next seed")
    parser.add_argument("--process-every", type=int, default=25, help="every so many kills or freezes a process")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what goes wrong here is wanted
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        try:
            tally = asyncio.run(run(options.scenarios, options.seed, Path(state), process_every=options.process_every))
        except ChaosError as error:
            print(f"{error}\nrepeat it with --scenarios 1 --seed N", file=sys.stderr)
            return 1
    print(f"{tally.scenarios} scenarios in {time.monotonic() - began:.0f} s, after each a fresh session worked")
    print("no task, file descriptor, socket or process was left behind")
    print("faults: " + ", ".join(f"{name} {count}" for name, count in sorted(tally.faults.items())))
    print("ends:   " + ", ".join(f"{name} {count}" for name, count in sorted(tally.ends.items())))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
