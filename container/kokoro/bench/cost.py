"""What speech costs on an instance with a price: dollars for an audio-hour and for a million characters, by load."""

import argparse
from pathlib import Path

from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result
from container.kokoro.bench.saved import Saved
from emulator.arguments import positive


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("load", type=Path, help="a result of throughput, scalability or maximum (--json)")
    price = parser.add_mutually_exclusive_group(required=True)
    price.add_argument("--price", type=positive, help="dollars an hour of the machine it was measured on")
    price.add_argument("--instance", help="the same by its type, from deploy/prices.toml: ml.g5.xlarge")


def derive(options: argparse.Namespace) -> Result:
    """Return a row for each rung."""
    saved = Saved.read(options.load)
    rungs = saved.rungs
    price = options.price if options.price is not None else price_of(options.instance)
    machine = saved.conditions.get("processor", "an unnamed processor")
    title = f"Cost at ${price:.3f} an hour, measured on {machine} ({saved.fingerprint})"
    table = Table(
        title,
        ("sessions", "audio-hours per hour", "$ per audio-hour", "$ per million characters", "first audio p95 ms"),
    )
    for rung in rungs:
        characters = rung.characters / rung.elapsed_s * 3600
        table.rows.append((
            rung.sessions, rung.audio_rate, price / rung.audio_rate, price / characters * 1e6, rung.first_p95 * 1000,
        ))  # fmt: skip
    table.notes.append("A machine that is fully used; divide by the share that it really is used.")
    if options.instance:
        table.notes.append(f"The price is that of {options.instance}; it holds for figures measured on one.")
    return Result(table, {"price": price, "source": saved.fingerprint})


def price_of(instance: str) -> float:
    """Return dollars an hour. Raises ValueError."""
    from deploy.prices import Prices  # noqa: PLC0415  # this repository's; the price can also be given

    known = Prices.load()
    price = known.hour(instance)
    if price is None:
        raise ValueError(
            f"no price of {instance} is known; known are {', '.join(known.endpoint_hour)}, or give --price"
        )
    return price
