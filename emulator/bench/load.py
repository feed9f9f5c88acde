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

from emulator.arguments import count
from emulator.bench import processes
from emulator.bench.client import SdkClient
from emulator.certificates import Certificates

_SIZES = (16, 640, 4800, 16_000)
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
    parser.add_argument("--sessions", type=count, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1, help="of the messages' sizes and bytes")
    options = parser.parse_args(arguments)
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
    print(*(tally.broken or ["nothing lost, nothing changed, nothing reordered"]), sep="\n")
    return 1 if tally.broken else 0


async def _run(url: str, sessions: int, seconds: float, seed: int) -> _Tally:
    tally = _Tally()
    until = time.monotonic() + seconds
    counts = await asyncio.gather(*(_session(url, seed + number, until, tally) for number in range(sessions)))
    tally.fewest = min(counts)
    return tally


async def _session(url: str, seed: int, until: float, tally: _Tally) -> int:
    """Send random messages, compare what comes back; returns how many went round."""
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    client = SdkClient(url)
    sent, received, count = hashlib.sha256(), hashlib.sha256(), 0
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
                    count += 1
            await client.close()
    except Exception as error:  # noqa: BLE001  # whatever it is, it belongs into the report
        tally.broken.append(f"session {seed}: {error!r} after {count} messages")
    if sent.digest() != received.digest():
        tally.broken.append(f"session {seed}: what came back differs from what was sent")
    tally.messages += count
    return count


if __name__ == "__main__":
    raise SystemExit(main())
