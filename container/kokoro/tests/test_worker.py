import threading
from functools import partial

import pytest

from container.kokoro.worker import OverloadedError, Worker


def test_first_come_first_served_on_one_thread() -> None:
    worker, gate, seen = Worker(), threading.Event(), []
    threads = set()

    def job(number: int) -> int:
        gate.wait(20)
        threads.add(threading.current_thread().name)
        seen.append(number)
        return number * 2

    futures = [worker.submit(partial(job, number)) for number in range(5)]
    futures[3].cancel()
    gate.set()
    assert [future.result(20) for future in futures if not future.cancelled()] == [0, 2, 4, 8]
    assert seen == [0, 1, 2, 4]
    assert threads == {"synthesis"}


def test_a_failure_reaches_its_waiter_and_nobody_else() -> None:
    worker = Worker()
    failed = worker.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failed.result(20)
    assert worker.submit(lambda: 1).result(20) == 1


def test_too_many_are_refused_and_room_comes_back() -> None:
    worker, gate, begun = Worker(max_waiting=3), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait(20)

    first = worker.submit(hold)
    assert begun.wait(20)
    waiting = [worker.submit(lambda: None) for _ in range(3)]
    with pytest.raises(OverloadedError):
        worker.submit(lambda: None)
    begun_before = worker.submit(lambda: None, admitted=True)
    gate.set()
    for future in (first, *waiting, begun_before):
        future.result(20)
    worker.submit(lambda: None).result(20)


def test_stop_ends_the_thread_after_what_is_queued() -> None:
    worker = Worker()
    last = worker.submit(threading.current_thread)
    worker.stop()
    thread = last.result(20)
    thread.join(20)
    assert not thread.is_alive()


def test_who_runs_dry_first_comes_first_and_nobody_starves() -> None:
    worker, gate, begun = Worker(), threading.Event(), threading.Event()
    order: list[str] = []

    def hold() -> None:
        begun.set()
        gate.wait(20)

    worker.submit(hold)
    assert begun.wait(20)
    # a long text that is 10 s ahead of its listener, then newcomers, the last of them after those 10 s
    futures = [worker.submit(partial(order.append, "long"), 110.0, admitted=True)]
    futures += [worker.submit(partial(order.append, name), at) for name, at in (("b", 101.0), ("a", 100.0))]
    futures += [worker.submit(partial(order.append, "late"), 111.0)]
    gate.set()
    for future in futures:
        future.result(20)
    assert order == ["a", "b", "long", "late"]


def test_what_is_cancelled_makes_room_at_once() -> None:
    worker, gate, begun = Worker(max_waiting=1), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait(20)

    worker.submit(hold)
    assert begun.wait(20)
    waiting = worker.submit(lambda: None)
    assert worker.waiting == 1
    assert waiting.cancel()
    assert worker.waiting == 0
    again = worker.submit(lambda: 7)
    gate.set()
    assert again.result(20) == 7
    assert worker.waiting == 0


def test_as_many_at_once_as_there_are_threads_and_stop_ends_them_all() -> None:
    worker, both = Worker(threads=2), threading.Barrier(2)
    futures = [worker.submit(partial(both.wait, 20)) for _ in range(2)]
    assert {future.result(20) for future in futures} == {0, 1}
    last = [worker.submit(partial(_meet, both)) for _ in range(2)]
    worker.stop()
    for future in last:
        thread = future.result(20)
        thread.join(20)
        assert not thread.is_alive()


def _meet(both: threading.Barrier) -> threading.Thread:
    both.wait(20)
    return threading.current_thread()
