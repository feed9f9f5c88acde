"""``contract check``: the contract checks against a container, by pytest underneath."""

import argparse
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from contract_tests.agents.target import AGENT_TARGETS
from contract_tests.cli.options import TARGETS, add_judging_options, unknown
from contract_tests.exit_status import ExitStatus

__all__ = ["add_to", "pytest_arguments"]

_EPILOG = f"{TARGETS}\n{AGENT_TARGETS}\n\nWhat stands behind -- goes to pytest as it is."


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="run the contract checks against a container, or an agent",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    add_judging_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    parser.add_argument("--baseline", metavar="FILE", help="failures that are expected (docs/profiles.md)")
    parser.add_argument("--annotations", action="store_true", help="print GitHub annotations")


def _run(options: argparse.Namespace) -> int:
    problem = unknown([*options.only, *options.skip])
    if problem:
        print(f"contract check: {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    import pytest  # noqa: PLC0415 - slow to import, and only needed here

    return int(pytest.main(pytest_arguments(options)))


def pytest_arguments(options: argparse.Namespace) -> list[str]:
    """Return the command line for pytest. Configuration of the user's own project stays out of it."""
    folder = Path(str(resources.files("contract_tests")))
    arguments = [
        str(folder / "test_contract.py"),
        "-c",
        str(folder / "cli" / "pytest.ini"),
        f"--rootdir={folder}",
        "-p",
        "contract_tests.plugin",
        "-p",
        "no:cacheprovider",
        "-m",
        "contract",
        f"--target={options.target}",
        f"--contract-level={options.level}",
    ]
    chosen = _expression(options.only, options.skip)
    if chosen:
        arguments += ["-k", chosen]
    for option, name in (
        ("profile", "--profile"),
        ("server", "--server"),
        ("start_timeout", "--start-timeout"),
        ("idle_seconds", "--idle-seconds"),
        ("json", "--contract-json"),
        ("html", "--contract-html"),
        ("junit", "--junitxml"),
        ("baseline", "--contract-baseline"),
    ):
        value = getattr(options, option)
        if value is not None:
            arguments.append(f"{name}={value}")
    if options.annotations:
        arguments.append("--contract-annotations")
    return [*arguments, *options.rest]


def _expression(only: list[str], skip: list[str]) -> str:
    """Return an expression for ``-k``; the dash behind an id keeps CT1 from CT10."""
    wanted = " or ".join(f"{each.upper()}-" for each in only)
    unwanted = [f"not {each.upper()}-" for each in skip]
    parts = [f"({wanted})"] if wanted else []
    return re.sub(r"\s+", " ", " and ".join([*parts, *unwanted]))
