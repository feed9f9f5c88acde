"""How long a run takes, as a user sees it: ``python -m contract_tests.timing [TARGET] [--profile NAME]``.

Measures the command itself, with all that it starts: until the first verdict is on the screen of a container that runs
already, and until the end, with one process and with two.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.launch import launched

__all__ = ["main"]

_TARGET = "contract_tests.good.starlette_speech:app"
_SLOWEST = 6


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the times; return 1 if a check failed on the way."""
    parser = argparse.ArgumentParser(prog="python -m contract_tests.timing", description="How long a run takes.")
    parser.add_argument("target", metavar="TARGET", nargs="?", default=_TARGET, help="default: %(default)s")
    parser.add_argument("--profile", metavar="NAME", default="kokoro", help="default: %(default)s")
    parser.add_argument("--workers", metavar="N", type=int, nargs="*", default=[1, 2], help="default: 1 2")
    options = parser.parse_args(arguments)
    failed = False
    with launched(options.target) as url:
        first, _, _ = _run(url, options.profile, "--only", "CT0")
        print(f"first verdict on the screen {first:5.1f} s after the start, of a container that is ready", flush=True)
    for workers in options.workers:
        more = ["--", "-n", str(workers)] if workers > 1 else []
        first, whole, verdicts = _run(options.target, options.profile, *more)
        print(f"all checks, {workers} at once        {whole:5.1f} s, the first verdict after {first:.1f} s", flush=True)
        for each in sorted(verdicts, key=lambda each: -float(each["seconds"]))[:_SLOWEST]:
            print(f"    {each['id']:<5} {each['name']:<26} {each['seconds']:5.1f} s  {each['status']}")
        failed = failed or any(each["status"] == "FAIL" for each in verdicts)
    return 1 if failed else 0


def _run(target: str, profile: str, *more: str) -> tuple[float, float, list[dict[str, Any]]]:
    """Run ``contract check``; return the seconds to the first verdict and to the end, and the verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "verdicts.json"
        command = [sys.executable, "-m", "contract_tests.cli.main", "check", target]
        command += [f"--profile={profile}", f"--json={report}", *more]
        began = time.monotonic()
        first = 0.0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout or ():
                if not first and " CT" in line:
                    first = time.monotonic() - began
        whole = time.monotonic() - began
        verdicts: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["verdicts"]
    return first, whole, verdicts


if __name__ == "__main__":
    sys.exit(main())
