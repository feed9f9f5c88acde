"""``contract check``: the contract checks against a container, by pytest underneath."""

import argparse
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from contract_tests.catalogue import CHECKS

__all__ = ["add_to", "pytest_arguments"]

_USAGE = 4
_EPILOG = """\
TARGET is one of
  MODULE:APP            an ASGI app, e.g. myapp.server:app (the current directory can be imported)
  FILE.py:APP           the same by its file, e.g. src/server.py:app
  http://HOST:PORT      a container that already runs (ws://HOST:PORT means the same)
  image:NAME[:TAG]      an image, run with the argument 'serve' and port 8080
  command:WORDS         a program, started with {port} replaced, e.g. 'command:node server.js --port {port}'
  kokoro                the Kokoro container of this repository

What stands behind -- goes to pytest as it is."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "check",
        help="run the contract checks against a container",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--only", metavar="ID", action="append", default=[], help="run this check only; may be repeated"
    )
    parser.add_argument(
        "--skip", metavar="ID", action="append", default=[], help="leave this check out; may be repeated"
    )
    parser.add_argument("--profile", metavar="NAME|FILE.toml", help="protocol to judge by (docs/profiles.md)")
    parser.add_argument("--server", metavar="SERVER", help="serves MODULE:APP: uvicorn or hypercorn")
    parser.add_argument("--level", choices=("MUST", "SHOULD"), default="MUST", help="what fails (%(default)s)")
    parser.add_argument("--start-timeout", metavar="SECONDS", help="until /ping has to answer 200")
    parser.add_argument("--idle-seconds", metavar="SECONDS", help="pause that a session has to survive in CT7")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument("--html", metavar="FILE", help="write a report to open in a browser")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    parser.add_argument("--baseline", metavar="FILE", help="failures that are expected (docs/profiles.md)")
    parser.add_argument("--annotations", action="store_true", help="print GitHub annotations")


def _run(options: argparse.Namespace) -> int:
    problem = _unknown([*options.only, *options.skip])
    if problem:
        print(f"contract check: {problem}", file=sys.stderr)
        return _USAGE
    import pytest  # noqa: PLC0415 - slow to import, and only needed here

    return int(pytest.main(pytest_arguments(options)))


def _unknown(ids: list[str]) -> str | None:
    known = {check.id for check in CHECKS}
    wrong = [each for each in ids if each.upper() not in known]
    return f"no check {', '.join(wrong)}; see `contract list`" if wrong else None


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
    chosen = _chosen(options.only, options.skip)
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


def _chosen(only: list[str], skip: list[str]) -> str:
    """Return an expression for ``-k``; the dash behind an id keeps CT1 from CT10."""
    wanted = " or ".join(f"{each.upper()}-" for each in only)
    unwanted = [f"not {each.upper()}-" for each in skip]
    parts = [f"({wanted})"] if wanted else []
    return re.sub(r"\s+", " ", " and ".join([*parts, *unwanted]))
