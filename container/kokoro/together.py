"""Calls from several threads that are made together, where the callee takes several at once."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future


class Together[Item, Result]:
    """Collects what callers ask for while the callee is busy, and asks for it in one go.

    Nobody waits for company: a call that finds the callee idle goes alone.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        most: int,
        fits: Callable[[Item, Item], bool] = lambda one, other: True,  # noqa: ARG005
    ) -> None:
        """`work` takes 1..`most` items; `fits` says whether an item may go with the one that came first."""
        self._work = work
        self._most = most
        self._fits = fits
        self._waiting: list[tuple[Item, Future[Result]]] = []
        self._changed = threading.Lock()
        self._turn = threading.Lock()

    def __call__(self, item: Item) -> Result:
        """Return the result for `item`. Blocks; raises what `work` raises on it."""
        future: Future[Result] = Future()
        with self._changed:
            self._waiting.append((item, future))
        with self._turn:  # whoever has it works for all that wait, so most find theirs done
            while not future.done():
                self._serve()
        return future.result()

    @property
    def waiting(self) -> int:
        """Items that nobody works on yet."""
        return len(self._waiting)

    def _serve(self) -> None:
        with self._changed:
            first = self._waiting[0][0]
            taken = [entry for entry in self._waiting if entry[0] is first or self._fits(first, entry[0])][: self._most]
            served = {future for _, future in taken}
            self._waiting = [entry for entry in self._waiting if entry[1] not in served]
        try:
            results = self._work([item for item, _ in taken])
        except Exception as error:  # noqa: BLE001  # it belongs to the callers
            if len(taken) == 1:
                taken[0][1].set_exception(error)
            else:
                self._one_by_one(taken)
            return
        for (_, future), result in zip(taken, results, strict=True):
            future.set_result(result)

    def _one_by_one(self, taken: Sequence[tuple[Item, Future[Result]]]) -> None:
        """Find out whose fault it was: nobody fails for another."""
        for item, future in taken:
            try:
                future.set_result(self._work([item])[0])
            except Exception as error:  # noqa: BLE001  # as above
                future.set_exception(error)
