"""The threads that compute: sentences of all sessions, the one whose listener runs dry first before all others."""

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future


class OverloadedError(Exception):
    """Too many requests wait for their first sentence already."""


class Worker:
    """Earliest deadline first, on as many threads as the engine takes texts at once: one, as a rule.

    A deadline is a moment on the monotonic clock: that at which a listener has heard all there is, which for a request
    without any audio is its arrival. So a long text, once it is ahead of its listener, lets others go first, and as
    time passes it comes before all who arrive later: nobody starves.

    At most `max_waiting` newcomers wait, requests without any audio; how many others have been begun is no reason to
    refuse one, since each of them has one sentence here at a time, and lets the newcomer go first as long as it can.
    """

    def __init__(self, max_waiting: int = 64, threads: int = 1) -> None:
        self._max_waiting = max_waiting
        self._jobs: list[tuple[float, int, Callable[[], None] | None]] = []
        self._numbers = itertools.count()
        self._waiting = 0
        self._newcomers = 0
        self._changed = threading.Condition()
        self._threads = threads
        for _ in range(threads):
            # a daemon: a sentence in native code cannot be stopped, and must not hold up the end of the process
            threading.Thread(target=self._work, name="synthesis", daemon=True).start()

    @property
    def waiting(self) -> int:
        """Sentences that wait for their turn."""
        return self._waiting

    def submit[Result](
        self, job: Callable[[], Result], deadline: float = 0.0, *, admitted: bool = False
    ) -> Future[Result]:
        """Queue `job`. A future that is cancelled before its turn is skipped, and makes room at once.

        Raises OverloadedError when too many newcomers wait, unless `admitted`: what was begun must not be refused
        half-way.
        """
        future: Future[Result] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            self._count(-1, admitted=admitted)
            try:
                result = job()
            except Exception as error:  # noqa: BLE001  # it belongs to whoever waits for the future
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._changed:
            if self._newcomers >= self._max_waiting and not admitted:
                raise OverloadedError(f"{self._newcomers} requests wait for their first sound already")
            self._count(1, admitted=admitted)
            heapq.heappush(self._jobs, (deadline, next(self._numbers), run))
            self._changed.notify()
        future.add_done_callback(lambda done: self._count(-1, admitted=admitted) if done.cancelled() else None)
        return future

    def _count(self, change: int, *, admitted: bool) -> None:
        with self._changed:
            self._waiting += change
            self._newcomers += 0 if admitted else change

    def stop(self) -> None:
        """End the threads after what is queued."""
        with self._changed:
            for _ in range(self._threads):
                heapq.heappush(self._jobs, (float("inf"), next(self._numbers), None))
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._jobs:
                    self._changed.wait()
                _, _, job = heapq.heappop(self._jobs)
            if job is None:
                return
            job()
            del job  # its closure holds the audio
