"""The command line: `python -m container.kokoro serve`, and `fetch` to prepare weights and voices beforehand."""

import argparse
import sys
from collections.abc import Sequence

from container.kokoro.engine import ENGINES
from container.kokoro.errors import SetupError
from container.kokoro.settings import Settings, from_environment


def parser(default: Settings) -> argparse.ArgumentParser:
    """Return the parser; `default` comes from the environment."""
    result = argparse.ArgumentParser(prog="python -m container.kokoro", description=__doc__)
    result.add_argument(
        "command", nargs="?", choices=("serve", "fetch"), default="serve", help="SageMaker passes 'serve'"
    )
    result.add_argument("--host", default=default.host, help="address to listen on (HOST; %(default)s)")
    result.add_argument("--port", type=int, default=default.port, help="port to listen on (PORT; %(default)s)")
    result.add_argument("--engine", choices=ENGINES, default=default.engine, help="KOKORO_ENGINE; %(default)s")
    result.add_argument(
        "--weights",
        metavar="auto|hub|DIR",
        default=default.weights,
        help="auto: /opt/ml/model, else the packaged ones; hub: hexgrad/Kokoro-82M (KOKORO_WEIGHTS; %(default)s)",
    )
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code: 0 done, 1 it failed, 2 it was called wrongly."""
    try:
        options = parser(from_environment()).parse_args(arguments)
        settings = Settings(options.host, options.port, options.engine, options.weights)
    except SetupError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if options.command == "fetch":
        return _fetch(settings)
    from container.kokoro.server import serve  # noqa: PLC0415  # --help needs no server

    return serve(settings)


def _fetch(settings: Settings) -> int:
    from container.kokoro.weights import resolve  # noqa: PLC0415

    try:
        weights = resolve(settings.weights, settings.engine)
    except (SetupError, OSError) as error:  # OSError: a full disk
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{weights}\nmodel: {weights.model}\nvoices: {weights.voices}\n")
    return 0
