"""The one thread that computes: sentences of all sessions in the order they were asked for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

MAX_WAITING = 64
"""A request waits with one sentence at a time, so about this many may be spoken at once."""


class OverloadedError(Exception):
    """Too many sentences wait already."""


class Worker:
    """First come, first served; a session that asks for one sentence after the other gets its fair turn."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        # a daemon: a sentence in native code cannot be stopped, and must not hold up the end of the process
        threading.Thread(target=self._work, name="synthesis", daemon=True).start()

    def submit[Result](self, job: Callable[[], Result], *, admitted: bool = False) -> Future[Result]:
        """Queue `job`. A future that is cancelled before its turn is skipped.

        Raises OverloadedError when too many wait, unless `admitted`: what was begun must not be refused half-way.
        """
        with self._lock:
            if self._waiting >= MAX_WAITING and not admitted:
                raise OverloadedError(f"{self._waiting} sentences wait already")
            self._waiting += 1
        future: Future[Result] = Future()

        def run() -> None:
            with self._lock:
                self._waiting -= 1
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = job()
            except Exception as error:  # noqa: BLE001  # it belongs to whoever waits for the future
                future.set_exception(error)
            else:
                future.set_result(result)

        self._jobs.put(run)
        return future

    def stop(self) -> None:
        """End the thread after what is queued."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
