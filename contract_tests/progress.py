"""What is shown while checks run: a line for each verdict as soon as it is there; on a terminal, what is waited for.

A pytest plugin for a run of contract checks alone (``-m contract``).
"""

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Generator, Mapping
from typing import TextIO

import pytest

from contract_tests.collector import verdict_of
from contract_tests.report import summary_line
from contract_tests.verdict import Status

__all__ = ["COLOURS", "Progress", "status_line"]

COLOURS = {Status.PASS: "green", Status.FAIL: "red", Status.WARN: "yellow", Status.NOT_APPLICABLE: "cyan"}
_EVERY_S = 0.5
_ERASE = "\r\x1b[K"
type _Shown = tuple[str, str, tuple[str, dict[str, bool]]]
_LABEL = re.compile(r"\[(.+)\]$")


def status_line(running: Mapping[str, float], done: int, total: int, width: int) -> str:
    """Return what is waited for, in one line of at most ``width`` characters; ``running``: seconds by name."""
    names = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in running.items())
    line = f"{done} of {total}: {names} …"
    return line if len(line) <= width else f"{line[: max(0, width - 1)]}…"


class Progress:
    """The display of one run. ``screen`` is a terminal, or None where the output goes elsewhere."""

    def __init__(self, screen: TextIO | None) -> None:
        self._screen = screen
        self._running: dict[str, float] = {}
        self._total = self._done = 0
        self._drawn = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def on(cls, reporter: pytest.TerminalReporter) -> "Progress":
        """Return the display for a run that is reported there."""
        reporter.showfspath = False
        reporter._show_progress_info = False  # noqa: SLF001 - per cents behind lines; there is no other way to say so
        if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
            return cls(None)
        # a copy: while a test runs, pytest sends descriptor 1 elsewhere
        return cls(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", errors="replace"))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin."""
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin, where workers collect."""
        self._begin(len(ids))

    def _begin(self, total: int) -> None:
        self._total = total
        if self._screen is not None and self._thread is None:
            self._thread = threading.Thread(target=self._draw, args=[self._screen], name="progress", daemon=True)
            self._thread.start()

    def _draw(self, screen: TextIO) -> None:
        while not self._over.wait(_EVERY_S):
            with self._lock:
                if not self._running:
                    continue
                now = time.monotonic()
                running = {name: now - began for name, began in self._running.items()}
                width = shutil.get_terminal_size().columns - 1
                screen.write(_ERASE + status_line(running, self._done, self._total, width))
                screen.flush()
                self._drawn = True

    def _erase(self) -> None:
        if self._drawn and self._screen is not None:
            self._screen.write(_ERASE)
            self._screen.flush()
            self._drawn = False

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Take up a test."""
        with self._lock:
            self._running[_label(nodeid)] = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Make room for what is shown of a report."""
        with self._lock:
            self._erase()
            if report.when == "call" or not report.passed:
                self._done += self._running.pop(_label(report.nodeid), None) is not None
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> _Shown | None:
        """Return the line of a verdict in the place of a dot."""
        verdict = verdict_of(report)
        if verdict is None:
            return None
        word = (report.outcome.upper(), {COLOURS[verdict.status]: True})
        return report.outcome, f"{summary_line(verdict)}\n", word

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._erase()
        if self._screen is not None:
            self._screen.close()
            self._screen = None


def _label(nodeid: str) -> str:
    match = _LABEL.search(nodeid)
    return match[1] if match else nodeid.rsplit("::", 1)[-1]
