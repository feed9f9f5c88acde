import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from container.kokoro.together import Together


class Slow:
    """Doubles numbers; the first call waits until it is released, 13 fails, and so does every batch with it."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.release = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.begun.set()
        assert self.release.wait(20)
        if 13 in items:
            raise ValueError("thirteen")
        return [item * 2 for item in items]


def calls(together: Together[int, int], slow: Slow, items: Sequence[int]) -> list[Future[int]]:
    """Call with each item from a thread of its own, the first alone, the others while it is being worked on."""
    pool = ThreadPoolExecutor(len(items))
    futures = [pool.submit(together, items[0])]
    assert slow.begun.wait(20)
    for number, item in enumerate(items[1:], 1):
        futures.append(pool.submit(together, item))
        while together.waiting < number:  # in this order
            threading.Event().wait(0.001)
    slow.release.set()
    pool.shutdown()
    return futures


def test_what_is_asked_for_meanwhile_is_asked_for_together() -> None:
    slow = Slow()
    together = Together(slow, 3)
    found = [future.result(20) for future in calls(together, slow, [1, 2, 3, 4, 5])]
    assert found == [2, 4, 6, 8, 10]
    assert slow.batches[0] == [1]
    assert slow.batches[1:] == [[2, 3, 4], [5]]


def test_only_what_fits_goes_with_the_first_and_nothing_is_forgotten() -> None:
    slow = Slow()
    together = Together(slow, 8, lambda one, other: one % 2 == other % 2)
    assert [future.result(20) for future in calls(together, slow, [0, 1, 2, 3, 4])] == [0, 2, 4, 6, 8]
    assert slow.batches == [[0], [1, 3], [2, 4]]


def test_nobody_fails_for_another() -> None:
    slow = Slow()
    futures = calls(Together(slow, 8), slow, [1, 2, 13, 4])
    with pytest.raises(ValueError, match="thirteen"):
        futures[2].result(20)
    assert [futures[number].result(20) for number in (0, 1, 3)] == [2, 4, 8]
