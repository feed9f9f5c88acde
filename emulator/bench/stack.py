"""``emulator up`` with an agent, as a process: for benchmarks and tests that are clients of it."""

import contextlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.process import Process

__all__ = ["Stack", "StackError", "running"]

_READY = "Ctrl-C stops"


class StackError(Exception):
    """Raised when ``emulator up`` does not come up; holds what it said."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A running emulator: what a client needs of it."""

    environment: dict[str, str]
    arn: str
    http_url: str


@contextlib.contextmanager
def running(arguments: Sequence[str], state: Path, limit: float = 300.0) -> Iterator[Stack]:
    """Run ``emulator up`` with these arguments, on any free port, until the block ends.

    Raises:
        StackError: it was not ready after ``limit`` seconds, or exited.
    """
    command = [sys.executable, "-m", "emulator", "up", "--port", "0", "--http-port", "0", "--state-dir", str(state)]
    with Process([*command, *arguments], Path.cwd()) as process:
        deadline = time.monotonic() + limit
        while True:
            code = process.exit_code
            printed = process.tail(400)
            if any(_READY in line for line in printed):
                break
            if code is not None or time.monotonic() > deadline:
                what = "did not get ready" if code is None else f"exited with {code}"
                raise StackError("\n".join([f"emulator up {what}:", *printed[-30:]]))
            time.sleep(0.1)  # another process: there is no event to wait for
        text = "\n".join(printed)
        variables = dict(re.findall(r"^  export (\w+)=(.*)$", text, re.MULTILINE))
        arn = re.search(r"^Agent: (\S+)$", text, re.MULTILINE)
        plain = re.search(r"without TLS at (\S+)", text)
        yield Stack(variables, arn[1] if arn else "", plain[1] if plain else "")
