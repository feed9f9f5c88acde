"""`python -m container.kokoro.bench tts|throughput|ping|leaks`: measure on this machine, print tables, write JSON."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from container.kokoro.bench import leaks, ping, report, throughput, tts
from container.kokoro.bench.report import Table
from container.kokoro.engine import ENGINES


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    result = argparse.ArgumentParser(prog="python -m container.kokoro.bench", description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--engine", choices=ENGINES, default="onnx", help="%(default)s")
    common.add_argument("--json", type=Path, metavar="FILE", help="write results, raw figures and conditions")
    common.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    commands = result.add_subparsers(dest="command", required=True)
    command = commands.add_parser("tts", parents=[common], help=tts.__doc__)
    command.add_argument("--runs", type=int, default=7, help="%(default)s")
    command = commands.add_parser("throughput", parents=[common], help=throughput.__doc__)
    command.add_argument("--seconds", type=float, default=60, help="for each number of sessions (%(default)s)")
    command.add_argument(
        "--sessions", type=int, nargs="+", default=list(throughput.SESSIONS), metavar="N", help="%(default)s"
    )
    command = commands.add_parser("ping", parents=[common], help=ping.__doc__)
    command.add_argument("--seconds", type=float, default=30, help="%(default)s")
    command = commands.add_parser("leaks", parents=[common], help=leaks.__doc__)
    command.add_argument("--sentences", type=int, default=1000, help="%(default)s")
    command.add_argument("--disconnects", type=int, default=200, help="%(default)s")
    return result


def _plan(options: argparse.Namespace) -> str:
    match options.command:
        case "tts":
            return tts.plan(options.runs)
        case "throughput":
            return throughput.plan(options.seconds, options.sessions)
        case "ping":
            return ping.plan(options.seconds)
        case _:
            return leaks.plan(options.sentences, options.disconnects)


async def _measure(options: argparse.Namespace) -> tuple[Table, dict[str, Any]]:
    match options.command:
        case "tts":
            return await tts.measure(options.engine, options.runs)
        case "throughput":
            return await throughput.measure(options.engine, options.seconds, options.sessions)
        case "ping":
            return await ping.measure(options.engine, options.seconds)
        case _:
            return await leaks.measure(options.engine, options.sentences, options.disconnects)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Exit code 0, or 1 when a server did not start or refused a text."""
    options = parser().parse_args(arguments)
    chosen = {name: value for name, value in vars(options).items() if name not in ("json", "dry_run", "engine")}
    conditions = report.conditions(options.engine, **chosen)
    print(report.headline(conditions))
    if options.dry_run:
        print(f"would: {_plan(options)}")
        return 0
    try:
        table, raw = asyncio.run(_measure(options))
    except (RuntimeError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was measured to the end\n")
        return 130
    if not report.has_gpu():
        table.rows.append(("a GPU (none here)", *(None for _ in table.columns[1:])))
    print(f"\n{table.text()}")
    if options.json:
        result = {
            "conditions": conditions,
            "columns": table.columns,
            "rows": table.rows,
            "notes": table.notes,
            "raw": raw,
        }
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
