"""`python -m container.kokoro.bench COMMAND`: measure on this machine, or derive from results; tables, JSON, SVG."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from container.kokoro.bench import (
    batching,
    capacity,
    cost,
    drift,
    joints,
    latency,
    leaks,
    load,
    maximum,
    panel,
    ping,
    quality,
    report,
    saved,
    scalability,
    scaleout,
    throughput,
    tts,
    validate,
)
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.result import Derivation, Measurement, Result
from container.kokoro.engine import ENGINES
from emulator.arguments import add_dry_run
from emulator.outputfile import output_problem
from emulator.sigterm import ended_by_sigterm

MEASURED: Mapping[str, Measurement] = {
    "tts": tts,
    "latency": latency,
    "throughput": throughput,
    "scalability": scalability,
    "maximum": maximum,
    "validate": validate,
    "scaleout": scaleout,
    "ping": ping,
    "leaks": leaks,
    "quality": quality,
    "joints": joints,
    "batching": batching,
}
DERIVED: Mapping[str, Derivation] = {"drift": drift, "cost": cost, "plan": capacity, "panel": panel}
DRAWN = ("tts", "latency", "throughput", "scalability", "maximum", "scaleout", "leaks")
"""Measurements that have a chart."""
LADDERS = {"throughput": throughput.SESSIONS, "scalability": scalability.SESSIONS}
"""Numbers of sessions of those that measure several, unless given."""
_NO_CONDITION = ("command", "json", "plot", "dry_run", "engine")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    result = argparse.ArgumentParser(prog="python -m container.kokoro.bench", description=__doc__)
    add_commands(result)
    return result


def add_commands(to: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    """Add a command for each benchmark; what is parsed is for :func:`run`."""
    out = argparse.ArgumentParser(add_help=False)
    out.add_argument("--json", type=Path, metavar="FILE", help="write the result, raw figures and conditions")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--engine", choices=ENGINES, default="onnx", help="what speaks (%(default)s)")
    add_dry_run(common)
    commands = to.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, measurement in MEASURED.items():
        command = commands.add_parser(name, parents=[common, out], help=_help(measurement.__doc__))
        # read of all, to say which ones have a chart
        shown = "write a chart (SVG)" if name in DRAWN else argparse.SUPPRESS
        command.add_argument("--plot", type=Path, metavar="FILE", help=shown)
        measurement.arguments(command)
    for name, derivation in DERIVED.items():
        derivation.arguments(commands.add_parser(name, parents=[out], help=_help(derivation.__doc__)))
    draw = commands.add_parser("plot", help="draw a result as SVG")
    draw.add_argument("result", type=Path, help="written with --json")
    draw.add_argument("picture", type=Path, help="the file to write")
    return commands


def _help(text: str | None) -> str:
    return (text or "").splitlines()[0].replace("%", "%%")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure or derive, and print; see :func:`run`."""
    return run(parser().parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Measure or derive, and print.

    Exit code 0; 1 when something failed, or is not as it has to be; 130 when stopped.
    """
    try:
        _check(options)
        if options.command in MEASURED:
            return _measure(options)
        if options.command == "plot":
            return _draw(options)
        result = DERIVED[options.command].derive(options)
        return _tell(options, {}, result)
    except (RuntimeError, OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was measured to the end\n")
        return 130


def _check(options: argparse.Namespace) -> None:
    """Raise ValueError where the result could not be written: found out afterwards, it would be lost."""
    given = vars(options)
    for name in ("json", "plot"):
        if (problem := output_problem(given.get(name))) is not None:
            raise ValueError(f"--{name} {problem}")
    if given.get("plot") is None:
        return
    if options.command not in DRAWN:
        raise ValueError(f"{options.command} has no chart; leave --plot out. These have one: {', '.join(DRAWN)}.")
    if options.command == "scaleout" and not options.sessions:
        raise ValueError("the chart of scaleout is of a second instance under load: it needs --sessions above 0")


def _measure(options: argparse.Namespace) -> int:
    measurement = MEASURED[options.command]
    if options.command in LADDERS and options.sessions is None:  # here, so that the conditions have them
        options.sessions = load.choose_sessions(options.engine, LADDERS[options.command])
    chosen = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in vars(options).items()
        if name not in _NO_CONDITION
    }
    conditions = report.conditions(options.engine, **chosen)
    print(report.headline(conditions), flush=True)
    if options.dry_run:
        print(f"would: {measurement.plan(options)}")
        return 0
    progress = Progress()
    try:
        with ended_by_sigterm():
            result = asyncio.run(measurement.measure(options, progress))
    finally:
        progress.end()
    if not report.has_gpu():
        result.table.rows.append(("a GPU (none here)", *(None for _ in result.table.columns[1:])))
    code = _tell(options, conditions, result)
    if options.plot and result.chart is not None:
        options.plot.write_text(result.chart.svg(), encoding="utf-8")
    return code


def _tell(options: argparse.Namespace, conditions: dict[str, Any], result: Result) -> int:
    print(f"\n{result.table.text()}")
    if options.json:
        saved.write(options.json, options.command, conditions, result)
    if result.failed:
        sys.stderr.write(f"failed: {result.failed}\n")
    return 1 if result.failed else 0


def _draw(options: argparse.Namespace) -> int:
    chart = saved.Saved.read(options.result).chart
    if chart is None:
        raise ValueError(f"{options.result} has nothing to draw")
    options.picture.write_text(chart.svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
