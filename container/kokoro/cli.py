"""The command line: `python -m container.kokoro serve`, and `fetch` to prepare weights and voices beforehand."""

import argparse
import signal
import sys
from collections.abc import Sequence

from container.kokoro import settings as options
from container.kokoro.errors import SetupError
from container.kokoro.settings import Settings, from_environment


def parser(default: Settings) -> argparse.ArgumentParser:
    """Return the parser; `default` comes from the environment."""
    result = argparse.ArgumentParser(prog="python -m container.kokoro", description=__doc__)
    result.add_argument(
        "command", nargs="?", choices=("serve", "fetch"), default="serve", help="SageMaker passes 'serve'"
    )
    for field in options.fields():
        rule = field.metadata
        result.add_argument(
            f"--{field.name.removesuffix('_s').replace('_', '-')}",
            dest=field.name,
            type=type(field.default),
            default=getattr(default, field.name),
            choices=rule.get("choices"),
            metavar=rule.get("metavar"),
            help=f"{rule['help']} ({rule['variable']}; %(default)s)",
        )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 done, 1 it failed, 2 it was called wrongly."""
    try:
        chosen = vars(parser(from_environment()).parse_args(arguments))
        command = chosen.pop("command")
        settings = Settings(**chosen)
    except SetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if command == "fetch":
        return _fetch(settings)
    from container.kokoro.server import serve  # noqa: PLC0415  # --help needs no server

    return serve(settings)


def _fetch(settings: Settings) -> int:
    # a server may end at any time with exit code 0, but half of the weights are no success
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from container.kokoro.weights import resolve  # noqa: PLC0415

    try:
        weights = resolve(settings.weights, settings.engine)
    except (SetupError, OSError) as error:  # OSError: a full disk
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{weights}\nmodel: {weights.model}\nvoices: {weights.voices}\n")
    return 0
