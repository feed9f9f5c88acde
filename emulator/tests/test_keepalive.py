from emulator.wire.keepalive import Keepalive, Tick


def test_a_ping_is_due_every_interval_while_pongs_come() -> None:
    keepalive = Keepalive(60, 5, now=100)
    for number in range(1, 50):
        assert keepalive.tick(100 + 60 * number - 0.1) is Tick.NOTHING
        assert keepalive.tick(100 + 60 * number) is Tick.PING
        keepalive.pong()


def test_five_pings_without_a_pong_end_the_session_when_the_sixth_is_due() -> None:
    keepalive = Keepalive(60, 5, now=0)
    ticks = [keepalive.tick(60 * number) for number in range(1, 7)]
    assert ticks == [Tick.PING] * 5 + [Tick.CUT]


def test_one_pong_starts_the_count_anew() -> None:
    keepalive = Keepalive(60, 5, now=0)
    for number in range(1, 6):
        assert keepalive.tick(60 * number) is Tick.PING
    keepalive.pong()
    assert [keepalive.tick(60 * number) for number in range(6, 12)] == [Tick.PING] * 5 + [Tick.CUT]


def test_a_late_tick_neither_stretches_the_interval_nor_makes_up_for_lost_ones() -> None:
    keepalive = Keepalive(60, 5, now=0)
    assert keepalive.tick(61) is Tick.PING
    assert keepalive.due == 120
    assert keepalive.tick(400) is Tick.PING
    assert keepalive.due == 400
