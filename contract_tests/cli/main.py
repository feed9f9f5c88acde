"""``contract``: check a container, once or often, explain a check, lint source, look at an image, write a profile."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast, override

from contract_tests.cli import check, explain, image, init, lint, repeat
from contract_tests.exit_status import ExitStatus

__all__ = ["main"]

_EPILOG = """\
to begin: contract check my_app:app (an ASGI app), FILE.py:app, image:NAME or http://HOST:PORT

exit status: 0 nothing is wrong, 1 a check failed or something was found, 2 interrupted,
3 what was to be judged is not there, 4 the command line cannot be understood, 5 no check is left (docs/ci.md)"""


class _Parser(argparse.ArgumentParser):
    """Ends with 4 where the command line cannot be understood, as pytest does."""

    @override
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitStatus.USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _Parser(
        prog="contract",
        description="Does a container keep the contract of SageMaker AI bidirectional streaming?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for module in (check, repeat, explain, lint, image, init):
        module.add_to(commands)
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.rest = words[end + 1 :]
    run = cast("Callable[[Any], int]", options.run)
    try:
        return run(options)
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:  # `| head`
        sys.stderr.close()
        return ExitStatus.GOOD


if __name__ == "__main__":
    sys.exit(main())
