"""Results as files: written with their conditions, read back with a clear word when they are something else."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from container.kokoro.bench.load import Rung
from container.kokoro.bench.plot import Chart
from container.kokoro.bench.result import Result

FORMAT = 1


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
        """Of all that the figures depend on."""
        return str(self.conditions["fingerprint"])

    @property
    def rungs(self) -> list[Rung]:
        """Rungs of a load on this container. Raises ValueError when it has none."""
        found = [rung for rung in self.raw.get("rungs", ()) if rung.get("server", OURS_NAME) == OURS_NAME]
        if not found:
            raise ValueError(f"{self.path} is a result of '{self.command}', which has no load; expected one of {LOADS}")
        return [Rung.read(rung) for rung in found]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a result. Raises ValueError that says what the file is not."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError(f"{path} has format {data['format']}, expected {FORMAT}")
            chart = Chart.read(data["chart"]) if data["chart"] else None
            columns = list(data["columns"])
            return cls(path, data["command"], data["conditions"], columns, data["rows"], data["raw"], chart)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is no result of this benchmark: {error!r}; write one with --json") from error


OURS_NAME = "this container"
LOADS = "throughput, scalability, maximum, validate"


def write(path: Path, command: str, conditions: dict[str, Any], result: Result) -> None:
    """Write a result with everything that was measured."""
    data = {
        "format": FORMAT,
        "command": command,
        "conditions": conditions,
        "title": result.table.title,
        "columns": result.table.columns,
        "rows": result.table.rows,
        "notes": result.table.notes,
        "failed": result.failed,
        "chart": result.chart.data() if result.chart else None,
        "raw": result.raw,
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
