"""A result as a file: what `bench plot` draws and `bench drift` compares."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.bench.chart import Chart

__all__ = ["FORMAT", "write"]

FORMAT = 1


def write(
    path: Path,
    command: str,
    conditions: dict[str, Any],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    raw: dict[str, Any],
    *,
    title: str = "",
    notes: Sequence[str] = (),
    failed: str | None = None,
    chart: Chart | None = None,
) -> None:
    """Write the table of a benchmark with everything that was measured."""
    data = {
        "format": FORMAT,
        "command": command,
        "conditions": conditions,
        "title": title,
        "columns": columns,
        "rows": rows,
        "notes": notes,
        "failed": failed,
        "chart": chart.data() if chart else None,
        "raw": raw,
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
