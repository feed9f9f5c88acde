"""`bench COMMAND`: measure on this machine, and derive from what was measured; tables, JSON, SVG."""

import argparse
import sys
from collections.abc import Callable, Sequence

from container.kokoro.bench import __main__ as kokoro
from emulator.bench import __main__ as round_trips
from emulator.bench import agent, load, transport
from emulator.bench import tts as emulated
from emulator.sigterm import ended_by_sigterm

__all__ = ["main"]

EMULATED: dict[str, tuple[str, Callable[[Sequence[str]], int]]] = {
    "agent": ("first audio of the agent, speaking early and speaking the whole answer", agent.main),
    "emulated-tts": ("tts through SDK and emulator, of any speech container", emulated.main),
    "transport": ("what encodings cost: bytes, time, cuts, words", transport.main),
    "round-trips": ("one message through SDK and emulator, beside a direct WebSocket", round_trips.main),
    "load": ("many sessions through SDK and emulator: nothing lost, memory", load.main),
}


def parser() -> argparse.ArgumentParser:
    """Return the command line: that of the container's benchmarks, and the emulator's, which read their own options."""
    result = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = kokoro.add_commands(result)
    for name, (text, _) in EMULATED.items():
        commands.add_parser(name, add_help=False, help=text)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark.

    Exit code 0; 1 when something failed, or is not as it has to be; 2 where nothing was measured; 130 when stopped.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in EMULATED:
        return _emulated(EMULATED[given[0]][1], given[1:])
    return kokoro.run(parser().parse_args(given))


@ended_by_sigterm()
def _emulated(run: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    try:
        return run(arguments)
    except KeyboardInterrupt:
        print("\nstopped; nothing was measured to the end", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
