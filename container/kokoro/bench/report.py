"""Tables for people, JSON for programs, and under which conditions it was measured."""

import hashlib
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from container.kokoro.engine import threads

type Cell = str | float | int | None

_PACKAGES = ("onnxruntime", "torch", "misaki", "uvicorn", "websockets", "starlette", "numpy")


@dataclass
class Table:
    """Rows under a title; None is printed as "not measured"."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the table in Markdown."""
        lines = [[*self.columns], *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        numeric = [all(_is_number(row[at]) for row in self.rows) for at in range(len(self.columns))]
        rule = [f"{'-' * (width - 1)}:" if right else "-" * width for width, right in zip(widths, numeric, strict=True)]
        printed = [
            "| " + " | ".join(_aligned(*item) for item in zip(line, widths, numeric, strict=True)) + " |"
            for line in [lines[0], rule, *lines[1:]]
        ]
        return "\n".join([self.title, "", *printed, "", *self.notes])


def _is_number(cell: Cell) -> bool:
    return cell is None or isinstance(cell, int | float)


def _aligned(text: str, width: int, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "not measured"
    return (
        f"{cell:.3g}"
        if isinstance(cell, float) and abs(cell) < 100
        else f"{cell:.0f}"
        if isinstance(cell, float)
        else str(cell)
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of all lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def conditions(engine: str, **options: object) -> dict[str, Any]:
    """Return what a result depends on, with a fingerprint: two results are comparable when theirs are the same."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    fixed: dict[str, Any] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": _gpu(),
        "python": platform.python_version(),
        "packages": versions,
        "engine": engine,
        "code": _code(),
        "threads": threads(),
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("KOKORO_")},
        **options,
    }
    fingerprint = hashlib.sha256(json.dumps(fixed, sort_keys=True, default=str).encode()).hexdigest()[:12]
    return {
        **fixed,
        "fingerprint": fingerprint,
        "load_average": os.getloadavg()[0],
        "time": time.strftime("%FT%TZ", time.gmtime()),
    }


def _code() -> str:
    """Return a fingerprint of the container's code, without its tests and benchmarks."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def _gpu() -> str | None:
    try:
        import torch  # noqa: PLC0415  # an extra
    except ModuleNotFoundError:
        return None
    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else None


def has_gpu() -> bool:
    """Say whether torch sees a GPU here."""
    return _gpu() is not None


def headline(found: dict[str, Any]) -> str:
    """Return the conditions in one line."""
    busy = found["load_average"]
    note = f" - LOADED: figures of a busy machine (load average {busy:.1f})" if busy > 0.5 * found["cores"] else ""
    spoken = f"engine {found['engine']} with {found['threads']} threads"
    if found.get("url"):
        spoken = f"asked from here: {found['url']}, whose engine and machine are its own"
    return (
        f"{found['processor']}, {found['cores']} cores, {spoken}, "
        f"Python {found['python']}, fingerprint {found['fingerprint']}{note}"
    )
