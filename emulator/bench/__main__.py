"""Runs the benchmark and prints its table."""

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from emulator.arguments import add_dry_run, count, positive
from emulator.bench import processes, saved
from emulator.bench.client import Client, RoundTrips, SdkClient, WebSocketClient, measure
from emulator.bench.figures import conditions, headline, markdown
from emulator.certificates import Certificates
from emulator.outputfile import output_file

_SIZES = {640: 400, 8192: 400, 65536: 120}
_FLOOR = "direct WebSocket (floor)"
_COLUMNS = ("stack, size", "p50 ms", "p95 ms", "p99 ms", "added p50 ms", "ratio to floor", "messages/s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run three interleaved rounds and print medians."""
    parser = argparse.ArgumentParser(prog="bench round-trips", description=__doc__)
    parser.add_argument("--rounds", type=count, default=3, help="whose medians are printed (default: %(default)s)")
    parser.add_argument(
        "--scale", type=positive, default=1.0, help="factor on the number of messages (default: %(default)s)"
    )
    parser.add_argument("--features", action="store_true", help="instead: the emulator with each feature on and off")
    add_dry_run(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write the table and the conditions")
    options = parser.parse_args(arguments)
    if options.dry_run:
        what = "the emulator with each feature on and off" if options.features else "four ways"
        sizes = ", ".join(f"{max(1, int(trips * options.scale))} of {size} B" for size, trips in _SIZES.items())
        print(f"would: start {what} to one echo container, and send in {options.rounds} rounds: {sizes}")
        return 0
    with contextlib.ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        target = stack.enter_context(processes.container()).url
        certificates = Certificates.load(state)
        os.environ["SSL_CERT_FILE"] = str(certificates.bundle)
        if options.features:
            _tell(asyncio.run(_measure(_features(stack, target, state), options.rounds, options.scale)), options)
            return 0
        ours = stack.enter_context(processes.emulator(target, state)).url
        stalled = stack.enter_context(processes.emulator(target, state, "--quick-ack=off")).url
        peer = stack.enter_context(processes.hypercorn(target, certificates, state)).url
        stacks: dict[str, Callable[[], Client]] = {
            _FLOOR: lambda: WebSocketClient(target),
            "emulator": lambda: SdkClient(ours),
            "emulator, no quick ACK": lambda: SdkClient(stalled),
            f"hypercorn {version('hypercorn')}": lambda: SdkClient(peer),
        }
        _tell(asyncio.run(_measure(stacks, options.rounds, options.scale)), options)
    return 0


def _features(stack: contextlib.ExitStack, target: str, state: Path) -> dict[str, Callable[[], Client]]:
    """Return the emulator with one feature after the other switched; each in a process of its own."""
    settings = {
        "emulator as it is (signatures enforced, wire log kept)": (),
        "signatures off": ("--signatures=off",),
        "signatures only noted": ("--signatures=log",),
        "no wire log": ("--no-trace",),
        "every session recorded": ("--record", str(state / "recorded")),
        "faults hooked in, none acting": ("--fault", "jitter=0"),
        "all of it off": ("--signatures=off", "--no-trace"),
    }
    stacks: dict[str, Callable[[], Client]] = {_FLOOR: lambda: WebSocketClient(target)}
    for name, options in settings.items():
        url = stack.enter_context(processes.emulator(target, state, *options)).url
        stacks[name] = lambda url=url: SdkClient(url)  # type: ignore[misc]  # bound now
    return stacks


async def _measure(
    stacks: dict[str, Callable[[], Client]], rounds: int, scale: float
) -> dict[tuple[str, int], RoundTrips]:
    rows: dict[tuple[str, int], list[RoundTrips]] = {}
    for number in range(rounds):
        for size, trips in _SIZES.items():
            for name, make in stacks.items():
                print(f"\rround {number + 1}/{rounds}: {size} B, {name:<60}", end="", file=sys.stderr, flush=True)
                async with asyncio.timeout(120):
                    rows.setdefault((name, size), []).append(await measure(make(), size, max(1, int(trips * scale))))
    print(file=sys.stderr)
    return {key: _median(measured) for key, measured in rows.items()}


def _median(rows: list[RoundTrips]) -> RoundTrips:
    def over(pick: Callable[[RoundTrips], float]) -> float:
        return statistics.median(map(pick, rows))

    return RoundTrips(over(lambda r: r.p50), over(lambda r: r.p95), over(lambda r: r.p99), over(lambda r: r.per_second))


def _tell(rows: dict[tuple[str, int], RoundTrips], options: argparse.Namespace) -> None:
    versions = {name: version(name) for name in ("aws-sdk-sagemaker-runtime-http2", "awscrt", "h2")}
    found = conditions(packages=versions, rounds=options.rounds, scale=options.scale, features=options.features)
    table = [
        [f"{name}, {size} B", row.p50, row.p95, row.p99, row.p50 - floor.p50, row.p50 / floor.p50, row.per_second]
        for (name, size), row in sorted(rows.items(), key=lambda item: item[0][1])
        for floor in (rows[_FLOOR, size],)
    ]
    told = ", ".join(f"{name} {number}" for name, number in versions.items())
    print(f"{headline(found)}; {told}; loopback, median of the rounds\n\n{markdown(_COLUMNS, table)}")
    if options.json is not None:
        saved.write(options.json, "round-trips", found, _COLUMNS, table, {})


if __name__ == "__main__":
    sys.exit(main())
