"""``contract repeat``: the same checks again and again, and which verdicts were not the same each time."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from contract_tests import profile
from contract_tests.bench import second_start_s
from contract_tests.check import Check
from contract_tests.cli.options import TARGETS, add_judging_options, chosen, unknown
from contract_tests.exit_status import ExitStatus
from contract_tests.repetition import conclusion, differences, judgement, shown, tally
from contract_tests.runner import DEFAULT_IDLE_S, bench_for, judge
from contract_tests.verdict import Verdict
from emulator.arguments import count
from emulator.launch import TargetError, running, starting
from emulator.outputfile import output_problem
from emulator.sigterm import ended_by_sigterm
from emulator.target import SERVERS, Target, TargetSyntaxError, parse

__all__ = ["add_to"]

_SCHEMA = "sagemaker-bidi-repeat/1"
_ERASE = "\r\x1b[K"
_EPILOG = f"""\
Each run starts the target anew, unless it runs already. What is compared: behaviour, closing behaviour and
the first cause of each check.

exit status: 0 all runs said the same, whatever it was; 1 a verdict differed; 2 interrupted; 3 no target;
4 the command line cannot be understood

{TARGETS}"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "repeat",
        help="run the checks many times, and say which verdicts differed",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    add_judging_options(parser)
    parser.add_argument("--times", metavar="N", type=count, default=20, help="how many runs (%(default)s)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the judgements of all runs as JSON")


def _run(options: argparse.Namespace) -> int:
    try:
        target = parse(options.target, options.server or SERVERS[0])
        rules = profile.load(options.profile or target.profile)
        problem = _usage_problem(options)
    except TargetSyntaxError as error:
        problem = str(error)
    except profile.ProfileError as error:
        problem = f"--profile {error}"
    if problem is not None:
        print(f"contract repeat: {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    checks = chosen(options.only, options.skip)
    runs: list[list[Verdict]] = []
    try:
        with ended_by_sigterm():
            for number in range(1, options.times + 1):
                began = time.monotonic()
                runs.append(_once(target, rules, checks, options, f"run {number} of {options.times}"))
                print(_told(runs, options.times, time.monotonic() - began), flush=True)
    except TargetError as error:
        print(error, file=sys.stderr)
        return ExitStatus.NOTHING_TO_JUDGE
    finally:  # an interrupted run has something to say, too
        status = _conclude(runs, options.json) if runs else ExitStatus.GOOD
    return status


def _usage_problem(options: argparse.Namespace) -> str | None:
    if options.server is not None and options.server not in SERVERS:
        return f"--server {options.server!r}: expected {' or '.join(SERVERS)}"
    if (problem := output_problem(options.json)) is not None:
        return f"--json {problem}"
    if options.rest:
        return f"nothing is expected behind --, but there is {options.rest[0]!r}"
    problem = unknown([*options.only, *options.skip])
    if problem is None and not chosen(options.only, options.skip):
        return "--only and --skip leave no check"
    return problem


def _once(
    target: Target, rules: profile.Profile, checks: Sequence[Check], options: argparse.Namespace, what: str
) -> list[Verdict]:
    """Return the verdicts of one run, graded."""
    cwd = Path.cwd()
    verdicts = []
    with (
        running(target, options.start_timeout or target.start_timeout, cwd) as own,
        bench_for(
            own.url,
            rules,
            options.idle_seconds or DEFAULT_IDLE_S,
            own=own if own.ours else None,
            starter=partial(starting, target, cwd) if own.ours else None,
            start_seconds=second_start_s(options.start_timeout, target.start_timeout),
        ) as bench,
    ):
        for number, check in enumerate(checks, 1):
            if sys.stdout.isatty():
                print(f"{_ERASE}{what}, {number} of {len(checks)}: {check.id} {check.name} …", end="", flush=True)
            verdicts.append(asyncio.run(judge(check, bench)).graded(options.level == "SHOULD"))
    if sys.stdout.isatty():
        print(_ERASE, end="")
    return verdicts


def _told(runs: Sequence[Sequence[Verdict]], times: int, seconds: float) -> str:
    """Return the line of the run that has just ended: how it went, and what was different in the first one."""
    line = f"run {len(runs):>{len(str(times))}} of {times}: {tally(runs[-1])}  {seconds:.1f} s"
    changed = [
        f"{now.id} {now.status} (first {before.status})" if now.status is not before.status else f"{now.id} differs"
        for before, now in zip(runs[0], runs[-1], strict=True)
        if judgement(before) != judgement(now)
    ]
    return "  ".join([line, ", ".join(changed)]).rstrip()


def _conclude(runs: Sequence[Sequence[Verdict]], report: Path | None) -> int:
    """Print what differed, and write it down."""
    print("", *conclusion(runs), sep="\n")
    if report is not None:
        report.write_text(_document(runs), encoding="utf-8")
    return ExitStatus.FOUND if differences(runs) else ExitStatus.GOOD


def _document(runs: Sequence[Sequence[Verdict]]) -> str:
    checks = [
        {
            "id": verdicts[0].id,
            "alike": len({judgement(verdict) for verdict in verdicts}) == 1,
            "runs": [{"status": verdict.status, "judgement": shown(judgement(verdict))} for verdict in verdicts],
        }
        for verdicts in zip(*runs, strict=True)
    ]
    return json.dumps({"schema": _SCHEMA, "runs": len(runs), "checks": checks}, indent=2, ensure_ascii=False) + "\n"
