"""The contract checks against this container, again and again: `python -m container.kokoro.conformance --runs 20`.

Each run starts the container anew, with each engine on each server, and pytest judges it as it judges any container.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from container.kokoro.engine import ENGINES

SERVERS = ("uvicorn", "hypercorn")
_GOOD = ("PASS", "N/A")


@dataclass(frozen=True)
class Cell:
    """One engine on one server."""

    engine: str
    server: str

    def command(self, report: Path, extra: Sequence[str]) -> list[str]:
        """Return the pytest command that judges it and writes `report`."""
        target = ["--target", "container.kokoro.asgi:app", "--server", "hypercorn", "--start-timeout", "300"]
        chosen = target if self.server == "hypercorn" else []
        common = ["-m", "contract", "-q", "-p", "no:cacheprovider", f"--contract-json={report}"]
        return [sys.executable, "-m", "pytest", "contract_tests/test_contract.py", *common, *chosen, *extra]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print one line for each run. Exit code 0 when all checks passed in all runs, else 1."""
    parser = argparse.ArgumentParser(prog="python -m container.kokoro.conformance", description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="%(default)s")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["onnx"], help="%(default)s")
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=list(SERVERS), help="%(default)s")
    parser.add_argument("--profile", default="kokoro-cancel", help="%(default)s")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    options, extra = parser.parse_known_args(arguments)
    cells = [Cell(engine, server) for engine in options.engines for server in options.servers]
    extra.append(f"--profile={options.profile}")
    if options.dry_run:
        for cell in cells:
            print(f"KOKORO_ENGINE={cell.engine}", *cell.command(Path("report.json"), extra))
        return 0
    failed = 0
    for number in range(1, options.runs + 1):
        for cell in cells:
            begun = time.monotonic()
            problems, counts = _judge(cell, extra)
            failed += bool(problems)
            told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
            where = f"run {number}/{options.runs}  {cell.engine:<5} {cell.server:<9}"
            print(f"{where} {time.monotonic() - begun:4.0f} s  {told}", *problems, sep="\n    ", flush=True)
    print(f"{options.runs * len(cells) - failed} of {options.runs * len(cells)} runs without a failure")
    return 1 if failed else 0


def _judge(cell: Cell, extra: Sequence[str]) -> tuple[list[str], Mapping[str, int]]:
    """Run the checks once; return what went wrong, and how many checks have which status."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            cell.command(report, extra),
            env={**os.environ, "KOKORO_ENGINE": cell.engine},
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            return [f"no report; pytest ended with {done.returncode}", *done.stdout.splitlines()[-15:]], {}
        verdicts = list(_verdicts(json.loads(report.read_text(encoding="utf-8"))))
    problems = [
        f"{each['id']} {each['status']}: {each['observed']}" for each in verdicts if each["status"] not in _GOOD
    ]
    if done.returncode and not problems:
        problems = [f"pytest ended with {done.returncode}", *done.stdout.splitlines()[-15:]]
    return problems, Counter(each["status"] for each in verdicts)


def _verdicts(document: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for check in document["verdicts"]:
        yield {"id": check["id"], "status": check["status"], "observed": str(check["behaviour"]["observed"])}


if __name__ == "__main__":
    sys.exit(main())
