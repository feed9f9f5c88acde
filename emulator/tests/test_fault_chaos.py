"""Random combinations of faults: after each, a fresh session works, and nothing is left behind."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from h2.exceptions import ProtocolError

from emulator import CloseFault, Endpoint, Faults, Server
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container
from emulator.tests.faulty import UNSIGNED, PatientClient, client_of, closed, descriptors, works

SCENARIOS = 100
CHANCE = 0.2
GRACE = replace(UNSIGNED, client_end_grace=0.02)  # so that answers come too


def random_faults(random: Random) -> Faults:
    """Any combination; times are short, so that a hundred of them are over soon."""
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
        "throttle": random.random() < CHANCE,
        "refuse_upgrade": random.random() < CHANCE,
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
    return Faults(**{name: value for name, value in values.items() if random.random() < CHANCE})


async def talk(client: PatientClient, random: Random) -> None:
    """Send a few parts, then the end of the input, and read whatever comes until there is an end."""
    stream = await client.open()
    if await client.status(stream) == 200:
        # what the emulator has ended already cannot be sent to any more
        with contextlib.suppress(ProtocolError, OSError):
            for number in range(random.randint(0, 6)):
                state = random.choice([None, "PARTIAL", "COMPLETE"])
                await client.send(stream, event(b"%d" % number, random.choice([None, "UTF8", "BINARY"]), state))
            await client.send(stream, END_OF_INPUT, end=True)
    while not isinstance(ended := await client.next(stream), str) or ended == "wrong CRC":
        pass


async def settled(tasks: set[asyncio.Task[Any]], files: int) -> None:
    """Wait until only these tasks run and only so many files are open."""
    async with asyncio.timeout(5):
        if more := asyncio.all_tasks() - tasks:
            await asyncio.wait(more)
        await closed(files)


async def test_a_hundred_random_combinations_leave_nothing_behind(state_directory: Path) -> None:
    seen = set[str]()
    async with (
        container() as target,
        Server({"ep": Endpoint(target.url)}, switches=GRACE, state_directory=state_directory) as server,
    ):
        ca = server.certificates.ca
        async with client_of(server, ca) as client:  # what is made once is there after it
            await works(client)
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=0.2)
        tasks, files = asyncio.all_tasks(), descriptors()
        async with asyncio.timeout(60):
            for seed in range(SCENARIOS):
                random = Random(seed)  # noqa: S311  # repeatable, not secret
                faults = random_faults(random)
                server.faults.set(faults, seed=seed)
                async with client_of(server, ca) as client:
                    with contextlib.suppress(OSError):  # dropped before anything could be said
                        await talk(client, random)
                server.faults.set(None)
                async with client_of(server, ca) as client:
                    await works(client)
                await settled(tasks, files)
                notes = [e.text for t in server.data_plane.traces for e in t.entries if e.text.startswith("fault: ")]
                seen |= {note.removeprefix("fault: ").split("=")[0].split(":")[0] for note in notes}
    # the hundred have met everything
    assert seen >= {name for name, _, _ in Faults.help()} - {"direction"}
