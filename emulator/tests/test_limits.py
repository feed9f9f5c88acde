from emulator.wire.limits import Limits


def test_the_30_minutes_end_a_session_that_is_busy() -> None:
    limits = Limits(1800, 0, now=10)
    for second in range(0, 1800, 60):
        limits.activity(10 + second)
        assert limits.exceeded(10 + second) is None
    assert limits.due == 1810
    assert limits.exceeded(1810) == "The connection reached its limit of 1800 s."


def test_an_idle_limit_counts_from_the_last_part() -> None:
    limits = Limits(1800, 60, now=0)
    limits.activity(50)
    assert limits.due == 110
    assert limits.exceeded(109.9) is None
    assert limits.exceeded(110) == "The session was idle for 60 s."


def test_no_limit_is_never_exceeded() -> None:
    assert Limits(0, 0, now=0).exceeded(1e9) is None
