"""Runs the benchmark and prints its table."""

import argparse
import asyncio
import contextlib
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from emulator.arguments import count
from emulator.bench import processes
from emulator.bench.client import Client, RoundTrips, SdkClient, WebSocketClient, measure
from emulator.certificates import Certificates

_SIZES = {640: 400, 8192: 400, 65536: 120}
_FLOOR = "direct WebSocket (floor)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run three interleaved rounds and print medians."""
    parser = argparse.ArgumentParser(prog="bench round-trips", description=__doc__)
    parser.add_argument("--rounds", type=count, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of messages")
    parser.add_argument("--features", action="store_true", help="instead: the emulator with each feature on and off")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        target = stack.enter_context(processes.container()).url
        certificates = Certificates.load(state)
        os.environ["SSL_CERT_FILE"] = str(certificates.bundle)
        if options.features:
            _print(asyncio.run(_measure(_features(stack, target, state), options.rounds, options.scale)))
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
        _print(asyncio.run(_measure(stacks, options.rounds, options.scale)))
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
                    rows.setdefault((name, size), []).append(await measure(make(), size, int(trips * scale)))
    print(file=sys.stderr)
    return {key: _median(measured) for key, measured in rows.items()}


def _median(rows: list[RoundTrips]) -> RoundTrips:
    def over(pick: Callable[[RoundTrips], float]) -> float:
        return statistics.median(map(pick, rows))

    return RoundTrips(over(lambda r: r.p50), over(lambda r: r.p95), over(lambda r: r.p99), over(lambda r: r.per_second))


def _print(rows: dict[tuple[str, int], RoundTrips]) -> None:
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"SDK {version('aws-sdk-sagemaker-runtime-http2')} (awscrt {version('awscrt')}), h2 {version('h2')}; "
        f"loopback, median of the rounds\n"
    )
    print("| stack | size | p50 ms | p95 ms | p99 ms | added p50 ms | ratio to floor | messages/s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for (name, size), row in sorted(rows.items(), key=lambda item: item[0][1]):
        floor = rows[_FLOOR, size]
        print(
            f"| {name} | {size} | {row.p50:.2f} | {row.p95:.2f} | {row.p99:.2f} | {row.p50 - floor.p50:.2f} "
            f"| {row.p50 / floor.p50:.1f} | {row.per_second:.0f} |"
        )


if __name__ == "__main__":
    sys.exit(main())
