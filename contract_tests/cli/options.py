"""What all commands that judge a container ask for: which one, by which protocol, and which checks."""

import argparse
from collections.abc import Sequence

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS
from contract_tests.check import Check
from emulator.arguments import add_start_timeout, seconds

__all__ = ["TARGETS", "add_judging_options", "chosen", "unknown"]

TARGETS = """\
TARGET is one of
  MODULE:APP            an ASGI app, e.g. myapp.server:app (the current directory can be imported)
  FILE.py:APP           the same by its file, e.g. src/server.py:app
  http://HOST:PORT      a container that already runs (ws://HOST:PORT means the same)
  image:NAME[:TAG]      an image, run with the argument 'serve' and port 8080
  command:WORDS         a program, started with {port} replaced, e.g. 'command:node server.js --port {port}'
  kokoro                the Kokoro container of this repository"""


def add_judging_options(parser: argparse.ArgumentParser) -> None:
    """Add TARGET and the options."""
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
    add_start_timeout(parser)
    parser.add_argument(
        "--idle-seconds", metavar="SECONDS", type=seconds, help="pause that a session has to survive in CT7"
    )


def unknown(ids: Sequence[str]) -> str | None:
    """Return what is wrong with ids of checks, None if they are all known."""
    known = {check.id for check in (*CHECKS, *AGENT_CHECKS)}
    wrong = [each for each in ids if each.upper() not in known]
    return f"no check {', '.join(wrong)}; see `contract list`" if wrong else None


def chosen(only: Sequence[str], skip: Sequence[str]) -> list[Check]:
    """Return the checks that were asked for."""
    wanted = {each.upper() for each in only} or {check.id for check in CHECKS}
    return [check for check in CHECKS if check.id in wanted - {each.upper() for each in skip}]
