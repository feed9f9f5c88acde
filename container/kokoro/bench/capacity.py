"""How many instances a peak needs, from a measured load; refused where the load contradicts Little's law.

Little's law: requests in a system are their rate times their time in it. A rung of sessions that never pause has to
obey it, and so does the fleet that is planned from it.
"""

import argparse
import math
from pathlib import Path

from container.kokoro.bench.load import LITTLE_TOLERANCE, Rung
from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result
from container.kokoro.bench.saved import Saved
from emulator.arguments import amount, positive


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("load", type=Path, help="a result of scalability or maximum (--json)")
    parser.add_argument("--peak", type=positive, required=True, help="requests a second at the busiest time")
    parser.add_argument("--limit", type=amount, default=1.0, help="seconds to first audio, p95 (%(default)s)")
    parser.add_argument("--headroom", type=amount, default=0.25, help="share of a fleet to keep free (%(default)s)")
    parser.add_argument("--growth", type=amount, default=0.0, help="requests/s by which load grows in a minute")
    parser.add_argument("--scale-out", type=amount, default=0.0, metavar="SECONDS", help="until new capacity helps")


def derive(options: argparse.Namespace) -> Result:
    """Return the plan, or say why there is none."""
    if not 0 <= options.headroom < 1 or options.peak <= 0:
        raise ValueError("--peak has to be above 0, and --headroom from 0 to below 1")
    saved = Saved.read(options.load)
    rungs = sorted(saved.rungs, key=lambda rung: rung.sessions)
    table = Table(
        f"Capacity for {options.peak:g} requests/s, first audio within {options.limit:g} s (p95); {saved.fingerprint}",
        ("sessions", "answers/s", "first audio p95 ms", "in system (Little)", "off", "keeps the limit"),
    )
    for rung in rungs:
        kept = "yes" if rung.first_p95 <= options.limit else "no"
        table.rows.append(
            (rung.sessions, rung.rate, rung.first_p95 * 1000, rung.in_system, f"{rung.little_error:.0%}", kept)
        )
    if wrong := [rung for rung in rungs if rung.little_error > LITTLE_TOLERANCE]:
        off = ", ".join(str(rung.sessions) for rung in wrong)
        return Result(table, failed=f"rungs of {off} sessions contradict Little's law; measure them for longer")
    good = [rung for rung in rungs if rung.first_p95 <= options.limit]
    if not good:
        return Result(table, failed="no rung keeps the limit: shorter texts, a faster machine, or a higher limit")
    chosen = max(good, key=lambda rung: rung.rate)
    return _fleet(options, table, rungs, chosen)


def _fleet(options: argparse.Namespace, table: Table, rungs: list[Rung], chosen: Rung) -> Result:
    grown = options.growth / 60 * options.scale_out
    usable = chosen.rate * (1 - options.headroom)
    instances = math.ceil((options.peak + grown) / usable)
    in_system = options.peak * sum(chosen.total_s) / len(chosen.total_s)
    arriving = f" ({grown:.3g} of it arrive while new capacity starts)" if grown else ""
    table.notes.append(
        f"One instance carries {chosen.rate:.3g} requests/s at {chosen.sessions} sessions; with {options.headroom:.0%} "
        f"kept free {usable:.3g}."
    )
    table.notes.append(f"Fleet: {instances} instances for {options.peak + grown:.4g} requests/s{arriving}.")
    table.notes.append(
        f"Check by Little's law: at the peak {in_system:.1f} requests are in the system, {in_system / instances:.2f} "
        f"on each instance, of {chosen.sessions} that were measured."
    )
    # a plan that divides an unqueued time by a queue length is far too small
    unqueued = rungs[0]
    naive = math.ceil(options.peak * sum(unqueued.total_s) / len(unqueued.total_s) / chosen.sessions)
    table.notes.append(
        f"(Peak times the time in system of an idle instance, divided by {chosen.sessions} sessions, would say "
        f"{naive}: that fleet carries {naive * chosen.rate:.3g} requests/s.)"
    )
    fits = in_system / instances <= chosen.sessions * (1 + LITTLE_TOLERANCE)
    raw = {
        "instances": instances, "requests_per_instance": chosen.rate, "sessions_per_instance": chosen.sessions,
        "in_system": in_system, "growth_during_scale_out": grown,
    }  # fmt: skip
    return Result(table, raw, failed=None if fits else "the plan contradicts Little's law")
