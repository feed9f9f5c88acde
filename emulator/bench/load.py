"""Many sessions at once through SDK, emulator and echo container: nothing lost, nothing reordered, memory bounded.

``bench load --sessions 200 --seconds 60``
"""

import argparse
import asyncio
import contextlib
import hashlib
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from emulator.arguments import add_dry_run, count, seconds
from emulator.bench import processes, saved
from emulator.bench.client import SdkClient
from emulator.bench.figures import conditions
from emulator.certificates import Certificates
from emulator.outputfile import output_file

_SIZES = (16, 640, 4800, 16_000)
_COLUMNS = ("sessions", "messages/s", "p50 ms", "p99 ms", "MiB before", "MiB after")
_IN_FLIGHT = 3
_PATIENCE = 60.0


@dataclass
class _Tally:
    messages: int = 0
    round_trips: list[float] = field(default_factory=list)
    fewest: int = 0
    broken: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the load and print what became of it; the exit status is 1 where anything was lost or changed."""
    parser = argparse.ArgumentParser(prog="bench load", description=__doc__)
    parser.add_argument("--sessions", type=count, default=200, help="at once (default: %(default)s)")
    parser.add_argument("--seconds", type=seconds, default=60.0, help="for how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the messages' sizes and bytes (default: %(default)s)")
    add_dry_run(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write the figures and the conditions")
    options = parser.parse_args(arguments)
    if options.dry_run:
        print(
            f"would: start an echo container and an emulator before it, and send messages of {_SIZES[0]} to "
            f"{_SIZES[-1]} bytes in {options.sessions} sessions at once, for {options.seconds:g} s"
        )
        return 0
    with contextlib.ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        target = stack.enter_context(processes.container())
        os.environ["SSL_CERT_FILE"] = str(Certificates.load(state).bundle)
        emulator = stack.enter_context(processes.emulator(target.url, state))
        before = emulator.resident_mib
        tally = asyncio.run(_run(emulator.url, options.sessions, options.seconds, options.seed))
        after = emulator.resident_mib
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"SDK {version('aws-sdk-sagemaker-runtime-http2')}; container, emulator and clients on one machine"
    )
    cuts = statistics.quantiles(tally.round_trips, n=100, method="inclusive")
    print(
        f"{options.sessions} sessions for {options.seconds:g} s: {tally.messages} messages "
        f"({tally.messages / options.seconds:.0f}/s), at least {tally.fewest} in every session; "
        f"round trip p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms"
    )
    if before is not None and after is not None:
        print(f"emulator memory: {before:.0f} MiB before, {after:.0f} MiB after")
    if options.json is not None:
        found = conditions(sessions=options.sessions, seconds=options.seconds, seed=options.seed)
        rate = tally.messages / options.seconds
        row = [f"{options.sessions} sessions", rate, cuts[49] * 1000, cuts[98] * 1000, before, after]
        raw = {"messages": tally.messages, "fewest": tally.fewest, "broken": tally.broken}
        saved.write(options.json, "load", found, _COLUMNS, [row], raw)
    print(*(tally.broken or ["nothing lost, nothing changed, nothing reordered"]), sep="\n")
    return 1 if tally.broken else 0


async def _run(url: str, sessions: int, duration: float, seed: int) -> _Tally:
    tally = _Tally()
    until = time.monotonic() + duration
    counts = await asyncio.gather(*(_session(url, seed + number, until, tally) for number in range(sessions)))
    tally.fewest = min(counts)
    return tally


async def _session(url: str, seed: int, until: float, tally: _Tally) -> int:
    """Send random messages, compare what comes back; returns how many went round."""
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    client = SdkClient(url)
    sent, received, carried = hashlib.sha256(), hashlib.sha256(), 0
    try:
        async with asyncio.timeout(until - time.monotonic() + _PATIENCE):
            await client.open()
            while time.monotonic() < until:
                batch = [chance.randbytes(chance.choice(_SIZES)) for _ in range(_IN_FLIGHT)]
                began = time.monotonic()
                for data in batch:
                    sent.update(data)
                    await client.send(data)
                for _ in batch:
                    received.update(await client.receive())
                    tally.round_trips.append(time.monotonic() - began)
                    carried += 1
            await client.close()
    except Exception as error:  # noqa: BLE001  # whatever it is, it belongs into the report
        tally.broken.append(f"session {seed}: {error!r} after {carried} messages")
    if sent.digest() != received.digest():
        tally.broken.append(f"session {seed}: what came back differs from what was sent")
    tally.messages += carried
    return carried


if __name__ == "__main__":
    raise SystemExit(main())
