"""Results as files: written with their conditions, read back with a clear word when they are something else."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from container.kokoro.bench.load import Rung
from container.kokoro.bench.result import Result
from emulator.bench import saved as file
from emulator.bench.chart import Chart


@dataclass(frozen=True)
class Saved:
    """One result as it was written."""

    path: Path
    command: str
    conditions: dict[str, Any]
    columns: list[str]
    rows: list[list[Any]]
    raw: dict[str, Any]
    chart: Chart | None

    @property
    def fingerprint(self) -> str:
        """Of all that the figures depend on. What is derived from other results has no conditions of its own."""
        return str(self.conditions.get("fingerprint", "no fingerprint"))

    @property
    def rungs(self) -> list[Rung]:
        """Rungs of a load on this container. Raises ValueError when it has none."""
        try:
            found = [rung for rung in self.raw.get("rungs", ()) if rung.get("server", OURS_NAME) == OURS_NAME]
            rungs = [Rung.read(rung) for rung in found]
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path} has a load that cannot be read: {error}") from error
        if not rungs:
            raise ValueError(f"{self.path} is a result of '{self.command}', which has no load; expected one of {LOADS}")
        return rungs

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a result. Raises ValueError that says what the file is not."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise ValueError(f"it is a {type(data).__name__}, expected an object")  # noqa: TRY004  # no fault of ours
            if (written := data.get("format")) != file.FORMAT:
                raise ValueError(
                    f"it has {'no format' if written is None else f'format {written}'}, expected {file.FORMAT}"
                )
            if missing := [name for name in _NEEDED if name not in data]:
                raise ValueError(f"it has no {', '.join(missing)}")
            chart = Chart.read(data["chart"]) if data["chart"] else None
            columns, rows = list(data["columns"]), [list(row) for row in data["rows"]]
            if any(len(row) != len(columns) for row in rows):
                raise ValueError("its rows are not as long as its columns")
            return cls(path, data["command"], dict(data["conditions"]), columns, rows, dict(data["raw"]), chart)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError) as error:  # no UTF-8 and no JSON, too
            raise ValueError(f"{path} is no result of this benchmark: {error}; write one with --json") from error


_NEEDED = ("command", "conditions", "columns", "rows", "raw", "chart")
OURS_NAME = "this container"
LOADS = "throughput, scalability, maximum, validate"


def write(path: Path, command: str, conditions: dict[str, Any], result: Result) -> None:
    """Write a result with everything that was measured."""
    table = result.table
    file.write(
        path,
        command,
        conditions,
        table.columns,
        table.rows,
        result.raw,
        title=table.title,
        notes=table.notes,
        failed=result.failed,
        chart=result.chart,
    )
