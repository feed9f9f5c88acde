"""The callers' side of the talker: one for each Locust worker, shared by all of its users."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from live_tests.load.turn import LONGEST_S, Asked, Heard

__all__ = ["TalkerGoneError", "Talking"]

_ROOT = Path(__file__).parents[2]
_MOST_S = LONGEST_S + 30.0
"""The talker itself ends a turn that takes too long; who hears nothing by then asked a talker that is stuck."""


class TalkerGoneError(Exception):
    """Raised when the process that speaks has ended; its last words are on stderr."""


class Talking:
    """Starts a talker and waits for answers. Safe for many threads, or for many greenlets once gevent has patched."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "live_tests.load.talker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
        )
        self._numbers = count()
        self._lock = threading.Lock()
        self._waiting: dict[int, threading.Event] = {}
        self._heard: dict[int, Heard] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def say(self, caller: str, text: str | None) -> Heard:
        """Take one turn and wait for its end, in bounded time; None ends the caller's session.

        Raises:
            TalkerGoneError: there is nobody to speak.
        """
        number, done = next(self._numbers), threading.Event()
        with self._lock:
            self._waiting[number] = done
        try:
            self._write(Asked(number, caller, text).line())
            over = done.wait(_MOST_S)
        finally:
            with self._lock:
                del self._waiting[number]
        heard = self._heard.pop(number, None)
        if heard is not None:
            return heard
        if over:
            raise TalkerGoneError("the process that speaks has ended")
        told = f"the process that speaks said nothing for {_MOST_S:g} s"
        return Heard(number, total_ms=1000 * _MOST_S, error=told)

    def _write(self, line: bytes) -> None:
        if self._process.stdin is None or self._process.poll() is not None:
            raise TalkerGoneError("the process that speaks has ended")
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            raise TalkerGoneError("the process that speaks has ended") from error

    def _read(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                heard = Heard.read(line)
                with self._lock:
                    if (done := self._waiting.get(heard.number)) is not None:
                        self._heard[heard.number] = heard
                        done.set()
        with self._lock:
            for done in self._waiting.values():
                done.set()

    def close(self) -> None:
        """End the process: the end of its input is enough, and after 10 s it is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
