"""What benchmarks say about their numbers: means and percentiles, and on what they were measured."""

import os
import platform
import statistics
import time
from collections.abc import Sequence
from typing import Any

__all__ = ["conditions", "figures", "headline", "markdown"]


def figures(values: Sequence[float]) -> dict[str, float]:
    """Return number, mean, p50, p95, least and most of some values; percentiles are interpolated."""
    p95 = statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]
    return {
        "n": len(values),
        "mean": statistics.fmean(values),
        "p50": statistics.median(values),
        "p95": p95,
        "min": min(values),
        "max": max(values),
    }


def conditions(**more: Any) -> dict[str, Any]:
    """Return what a result depends on, for its JSON."""
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
        "time": time.strftime("%FT%TZ", time.gmtime()),
        **more,
    }


def headline(found: dict[str, Any]) -> str:
    """Return the conditions as the line above a table; it says when the machine had something else to do."""
    cores, load = found["cores"] or 1, found["load_average"]
    busy = f"; LOADED: load average {load:.1f} before it began" if load > 0.5 * cores else ""
    return f"{cores} cores, {found['machine']}, Python {found['python']}; all on this machine{busy}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; its first column is text, the others are numbers. None is "not measured"."""
    lines = [list(columns), ["---", *["--:"] * (len(columns) - 1)], *([_shown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(cell: object) -> str:
    if cell is None:
        return "not measured"
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 100 else f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"
    return str(cell)
