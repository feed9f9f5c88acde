"""Whether a result still holds: another run of the same command, its conditions and its figures side by side."""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result
from container.kokoro.bench.saved import Saved
from emulator.arguments import amount

_UNSTABLE = ("fingerprint", "load_average", "time", "code")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("before", type=Path, help="a result (--json)")
    parser.add_argument("after", type=Path, help="a newer result of the same command")
    parser.add_argument("--tolerance", type=amount, default=0.15, help="share that figures may differ by (%(default)s)")
    parser.add_argument("--any-conditions", action="store_true", help="compare although the conditions differ")


def derive(options: argparse.Namespace) -> Result:
    """Return a row for each figure; failed when conditions differ, or a figure by more than the tolerance."""
    before, after = Saved.read(options.before), Saved.read(options.after)
    if before.command != after.command:
        raise ValueError(f"{after.path} is a result of '{after.command}', {before.path} one of '{before.command}'")
    if before.columns != after.columns:
        raise ValueError(f"{after.path} and {before.path} have other columns; measure both with one version")
    table = Table(f"Drift of '{before.command}'", ("row", "figure", "before", "after", "change"))
    different = list(_conditions(before, after))
    table.notes += [f"Condition {line}." for line in different]
    if before.conditions.get("code") != after.conditions.get("code"):
        table.notes.append("The code of the container is another one.")
    worst = 0.0
    for row, figure, one, two in _figures(before, after):
        # of nothing there is no share: whatever it became, it changed
        change = (two - one) / one if one else math.inf if two else 0.0
        worst = max(worst, abs(change))
        mark = " !" if abs(change) > options.tolerance else ""
        table.rows.append((row, figure, one, two, f"{f'{change:+.1%}' if one or not two else 'was 0'}{mark}"))
    failed = None
    if different and not options.any_conditions:
        failed = f"{len(different)} conditions differ, so the figures do not compare (--any-conditions)"
    elif math.isinf(worst):
        failed = "a figure that was 0 is something else"
    elif worst > options.tolerance:
        failed = f"a figure differs by {worst:.0%}, more than {options.tolerance:.0%}"
    return Result(table, {"conditions": different, "worst": worst if math.isfinite(worst) else None}, failed=failed)


def _conditions(before: Saved, after: Saved) -> Iterator[str]:
    for name in sorted(before.conditions.keys() | after.conditions.keys()):
        one, two = before.conditions.get(name), after.conditions.get(name)
        if name not in _UNSTABLE and one != two:
            yield f"{name} was {one!r}, is {two!r}"


def _figures(before: Saved, after: Saved) -> Iterator[tuple[str, str, float, float]]:
    rows = {_name(row): row for row in after.rows}
    for row in before.rows:
        other = rows.get(_name(row))
        if other is None:
            raise ValueError(f"{after.path} has no row {_name(row)!r}, which {before.path} has")
        for column, one, two in zip(before.columns, row, other, strict=True):
            if isinstance(one, float) and isinstance(two, int | float):
                yield _name(row), column, one, float(two)


def _name(row: list[object]) -> str:
    """Rows are known by their first cell, and by the second where both are no measured figures."""
    named = isinstance(row[0], str) and isinstance(row[1], str | int)
    return f"{row[0]} {row[1]}" if named else str(row[0])
