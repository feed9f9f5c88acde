"""What a benchmark found: a table, all raw figures, and what can be drawn."""

import argparse
from dataclasses import dataclass, field
from typing import Any, Protocol

from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table
from emulator.bench.chart import Chart


@dataclass
class Result:
    """The outcome of one command. `failed` says why it is not what was asked for: exit code 1."""

    table: Table
    raw: dict[str, Any] = field(default_factory=dict)
    chart: Chart | None = None
    failed: str | None = None


class Measurement(Protocol):
    """A module that starts servers and measures them."""

    __doc__: str | None

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of this command."""
        ...

    def plan(self, options: argparse.Namespace) -> str:
        """Say what would be done."""
        ...

    async def measure(self, options: argparse.Namespace, progress: Progress) -> Result:
        """Measure. Raises RuntimeError when a server does not start or refuses a text."""
        ...


class Derivation(Protocol):
    """A module that reads results of measurements and derives something from them."""

    __doc__: str | None

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of this command."""
        ...

    def derive(self, options: argparse.Namespace) -> Result:
        """Read and derive. Raises ValueError when a file is not what is needed."""
        ...
