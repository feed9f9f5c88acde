"""A child process with its own process group: its last output lines are kept, and it always ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Process"]

_KEPT_LINES = 400
_STOP_TIMEOUT_S = 5.0


class Process:
    """A running command. Use it as a context manager: at the end the whole process group is gone.

    Its own group keeps Ctrl-C away from it (so that we end it in order) and catches what it started itself.
    """

    def __init__(self, command: Sequence[str], cwd: Path, *, echo: bool = False) -> None:
        self.command = list(command)
        self._echo = echo
        self.began = time.monotonic()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.written = 0
        """Lines that it has written so far; the last of them are kept."""
        self._child = subprocess.Popen(
            self.command,
            cwd=cwd,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._stopping = False
        self._reader = threading.Thread(target=self._read, name="target output", daemon=True)
        self._reader.start()

    @classmethod
    def python(cls, arguments: Sequence[str], cwd: Path, *, echo: bool = False) -> Self:
        """Start this interpreter with arguments; modules of ``cwd`` can be imported. ``echo`` shows its output too."""
        return cls([sys.executable, *arguments], cwd, echo=echo)

    def _read(self) -> None:
        if self._child.stdout is None:
            return
        with self._child.stdout as output:  # closed here, at its end, since closing elsewhere would wait for this
            for line in output:
                self._lines.append(line.rstrip())
                self.written += 1
                if self._echo:
                    print(f"container | {line.rstrip()}", file=sys.stderr, flush=True)
        if self._echo:
            code = self._child.wait()
            if not self._stopping:  # who watches the output would take silence for health
                print(f"container | (it has ended by itself, exit code {code})", file=sys.stderr, flush=True)

    @property
    def exit_code(self) -> int | None:
        """The exit code, None while it runs."""
        return self._child.poll()

    def tail(self, lines: int = 20) -> list[str]:
        """Return the last output lines, standard output and errors as they came."""
        if self.exit_code is not None:
            self._reader.join(1.0)  # what it wrote last is still on its way
        return list(self._lines)[-lines:]

    def lines(self, since: int) -> list[str]:
        """Return the lines after the first ``since``, as far as they are kept."""
        kept, written = list(self._lines), self.written
        new = max(0, written - since)
        return kept[-new:] if new else []

    def terminate(self) -> None:
        """Send SIGTERM to the first process alone, as a container engine does."""
        if self._child.poll() is None:
            self._child.terminate()

    def kill(self) -> None:
        """End the process group at once (a fault on demand, as the two below)."""
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """Stop the process group where it is."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the process group go on."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the process group: SIGTERM, and SIGKILL for what is left of it."""
        self._stopping = True
        if self._child.poll() is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a frozen one would not see it
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_STOP_TIMEOUT_S)
        self._signal(signal.SIGKILL)  # also what a leader that has gone left behind
        self._child.wait()
        self._reader.join(1.0)  # a child that left the group may hold the pipe open: then it goes on alone

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):  # PermissionError: macOS says so for a group of zombies
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
