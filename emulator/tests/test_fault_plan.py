"""What faults do to the actions of a session, without a socket."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.tests.test_faults import FAULTS
from emulator.wire.fault_plan import (
    Corrupted,
    Cut,
    DropClient,
    Dropped,
    FaultAction,
    FaultPlan,
    Held,
    Note,
    Repeat,
    ResetClient,
    SendMore,
    StormPing,
    WaitUntil,
)
from emulator.wire.faults import CloseFault, Faults
from emulator.wire.frames import Frame, FrameMapper, Opcode, PartMapper, preview
from emulator.wire.pacer import Pacer
from emulator.wire.parts import CompletionState, DataType, PayloadPart
from emulator.wire.session import Action, CloseContainer, EndOutput, Fail, Reset, SendFrame, SendPart

Actions = list[Action | FaultAction]
TEXT = DataType.UTF8
PARTIAL = CompletionState.PARTIAL

PARTS = st.lists(
    st.builds(
        PayloadPart,
        st.binary(max_size=12),
        st.none() | st.sampled_from(DataType),
        st.none() | st.sampled_from(CompletionState),
    ),
    max_size=12,
)


def sent(*parts: PayloadPart) -> list[Action]:
    """What the state machine asks for when these parts come from the client."""
    mapper = FrameMapper()
    return [SendFrame(mapper.frame(part), part) for part in parts]


def answers(*parts: PayloadPart) -> list[Action]:
    mapper = FrameMapper()
    frames = [mapper.frame(part) for part in parts]
    back = PartMapper()
    return [SendPart(back.part(frame), frame) for frame in frames]


def text(data: str, *, partial: bool = False) -> PayloadPart:
    return PayloadPart(data.encode(), TEXT, PARTIAL if partial else None)


def frames(actions: Actions) -> list[str]:
    found = [action.frame for action in actions if isinstance(action, SendFrame | SendMore)]
    return [
        f"{frame.opcode.name}{'' if frame.fin else ' FIN=0'} {len(frame.data)} B {preview(frame.data)}"
        for frame in found
    ]


def notes(actions: Actions) -> list[str]:
    return [action.text.partition(":")[0] for action in actions if isinstance(action, Note)]


def others(actions: Actions) -> Actions:
    return [action for action in actions if not isinstance(action, Note)]


def through(faults: Faults, *parts: PayloadPart) -> Actions:
    plan = FaultPlan(faults)
    return [*plan.begin(0), *plan.transform(sent(*parts), 0)]


# --- no faults, and the same faults ---


@settings(deadline=None)
@given(PARTS, PARTS, st.booleans())
def test_without_faults_nothing_is_changed(ups: list[PayloadPart], downs: list[PayloadPart], at_once: bool) -> None:
    plan = FaultPlan(Faults())
    assert plan.begin(0) == []
    ends: list[Action] = [CloseContainer(1000), Fail("ModelStreamError", "x", "1011"), Reset(), EndOutput()]
    actions = [*sent(*ups), *answers(*downs), *ends]
    batches = [actions] if at_once else [[action] for action in actions]
    assert [out for batch in batches for out in plan.transform(batch, 1)] == actions
    assert all(plan.alter(part) is part for part in ups)
    assert plan.tick(1e9) == []
    assert not plan.ended


@settings(deadline=None)
@given(FAULTS, PARTS, PARTS, st.text(max_size=5))
def test_the_same_seed_does_the_same(
    faults: Faults, ups: list[PayloadPart], downs: list[PayloadPart], seed: str
) -> None:
    def outcome(down_first: bool) -> tuple[Actions, Actions]:
        plan = FaultPlan(faults, seed)
        if down_first:
            down = plan.transform(answers(*downs), 5)
            return plan.transform(sent(*ups), 5), down
        up = plan.transform(sent(*ups), 5)
        return up, plan.transform(answers(*downs), 5)

    assert outcome(False) == outcome(False)
    if faults.close is None:  # else one direction does not change the other
        assert outcome(False) == outcome(True)


def test_another_seed_does_something_else() -> None:
    jittery = Faults(jitter=1, split=1, invalid_utf8=1)
    outcomes = {
        str(FaultPlan(jittery, str(seed)).transform(sent(text("a long enough text to be cut")), 0))
        for seed in range(20)
    }
    assert len(outcomes) > 15


@settings(deadline=None)
@given(FAULTS, PARTS)
def test_whatever_is_combined_frames_leave_in_a_legal_order(faults: Faults, ups: list[PayloadPart]) -> None:
    plan = FaultPlan(faults, "x")
    opened = False
    for action in plan.transform([*sent(*ups), CloseContainer(1000), EndOutput()], 0):
        if isinstance(action, SendFrame | SendMore):
            assert (action.frame.opcode is Opcode.CONTINUATION) is opened
            opened = not action.frame.fin


@settings(deadline=None)
@given(FAULTS, PARTS)
def test_no_byte_of_the_client_is_lost(faults: Faults, ups: list[PayloadPart]) -> None:
    plan = FaultPlan(faults, "x")
    out = plan.transform([*sent(*ups), CloseContainer(1000), EndOutput()], 0)
    arrived = b"".join(action.frame.data for action in out if isinstance(action, SendFrame | SendMore))
    cut = len(ups) if faults.close is None or faults.close.after == 0 else faults.close.after
    expected = b"".join(part.data for part in ups[:cut])
    if any(note.startswith("invalid_utf8") for note in notes(out)):
        assert len(arrived) == len(expected) + 1
    else:
        assert arrived == expected


# --- client to container ---


@pytest.mark.parametrize(
    ("fault", "came", "becomes"),
    [
        ("omit", TEXT, None),
        ("omit", DataType.BINARY, None),
        ("UTF8", None, TEXT),
        ("BINARY", TEXT, DataType.BINARY),
    ],
)
def test_data_type(fault: Any, came: DataType | None, becomes: DataType | None) -> None:
    plan = FaultPlan(Faults(data_type=fault))
    part = plan.alter(PayloadPart(b"x", came))
    assert part == PayloadPart(b"x", becomes)
    note, action = plan.transform(sent(part), 0)
    assert isinstance(note, Note)
    assert f"part 1 came with {came or 'no DataType'}, now {becomes or 'no DataType'}" in note.text
    assert isinstance(action, SendFrame)


def test_never_complete_of_a_run_leaves_single_parts_alone() -> None:
    out = through(Faults(never_complete="run"), text("a"), text("b", partial=True), text("c"), text("d"))
    assert frames(out) == [
        "TEXT 1 B 'a'",
        "TEXT FIN=0 1 B 'b'",
        "CONTINUATION FIN=0 1 B 'c'",
        "CONTINUATION FIN=0 1 B 'd'",
    ]
    assert notes(out) == ["never_complete=run"] * 2


def test_never_complete_of_a_part() -> None:
    out = through(Faults(never_complete=2), text("a"), text("b"), text("c"))
    assert frames(out) == ["TEXT 1 B 'a'", "TEXT FIN=0 1 B 'b'", "CONTINUATION FIN=0 1 B 'c'"]


def test_empty_frame_comes_before_every_nth_part_also_inside_a_message() -> None:
    out = through(Faults(empty_frame=2), text("a"), PayloadPart(b"b"), text("c", partial=True), text("d"))
    assert frames(out) == [
        "TEXT 1 B 'a'",
        "BINARY 0 B ''",
        "BINARY 1 B 'b'",
        "TEXT FIN=0 1 B 'c'",
        "CONTINUATION FIN=0 0 B ''",
        "CONTINUATION 1 B 'd'",
    ]
    assert notes(out) == ["empty_frame=2"] * 2


def test_invalid_utf8_counts_text_frames_only() -> None:
    out = through(Faults(invalid_utf8=2), text("a"), PayloadPart(b"b"), text("é"), text("d"))
    datas = [action.frame.data for action in out if isinstance(action, SendFrame)]
    assert datas[:2] == [b"a", b"b"]
    assert datas[3] == b"d"
    assert len(datas[2]) == len("é".encode()) + 1
    with pytest.raises(UnicodeDecodeError):
        datas[2].decode()


def test_split_makes_two_messages_that_are_still_text() -> None:
    out = through(Faults(split=2), text("a"), text("éé"), text("c"))
    assert frames(out) == ["TEXT 1 B 'a'", "TEXT 2 B 'é'", "TEXT 2 B 'é'", "TEXT 1 B 'c'"]
    assert notes(out) == ["split=2"]


def test_split_inside_a_run_stays_one_message() -> None:
    out = through(Faults(split=1), text("ab", partial=True), text("c"))
    assert frames(out) == ["TEXT FIN=0 1 B 'a'", "CONTINUATION FIN=0 1 B 'b'", "CONTINUATION 1 B 'c'"]


def test_split_of_a_single_character_leaves_an_empty_half() -> None:
    assert frames(through(Faults(split=1), text("é"))) == ["TEXT 2 B 'é'", "TEXT 0 B ''"]


def test_merge_glues_a_part_to_the_next() -> None:
    plan = FaultPlan(Faults(merge=2))
    assert others(plan.transform(sent(text("a"), text("b")), 0)) == [*sent(text("a")), Held(text("b"))]
    out = plan.transform(sent(PayloadPart(b"c")), 0)
    assert frames(out) == ["TEXT 2 B 'bc'"]
    assert notes(out) == ["merge=2"]


def test_merge_without_a_next_part_leaves_before_the_close() -> None:
    plan = FaultPlan(Faults(merge=1))
    out = plan.transform([*sent(text("a")), CloseContainer(1000), EndOutput()], 0)
    assert others(out) == [Held(text("a")), SendMore(Frame(Opcode.TEXT, b"a")), CloseContainer(1000), EndOutput()]


# --- container to client ---


def test_drop_part() -> None:
    first, second, third = answers(text("a"), text("b"), text("c"))
    assert isinstance(second, SendPart)
    out = FaultPlan(Faults(drop_part=2)).transform([first, second, third], 0)
    assert others(out) == [first, Dropped(second.frame), third]
    assert notes(out) == ["drop_part=2"]


def test_duplicate_part() -> None:
    first, second, third = answers(text("a"), text("b"), text("c"))
    assert isinstance(second, SendPart)
    out = FaultPlan(Faults(duplicate_part=2)).transform([first, second, third], 0)
    assert others(out) == [first, second, Repeat(second.part), third]
    assert notes(out) == ["duplicate_part=2"]


def test_corrupt_crc_counts_events_not_parts() -> None:
    first, second = answers(text("a"), text("b"))
    assert isinstance(first, SendPart)
    out = FaultPlan(Faults(corrupt_crc=2, duplicate_part=1)).transform([first, second], 0)
    _, _, note, corrupted, last = out
    assert isinstance(note, Note)
    assert isinstance(corrupted, Corrupted)
    assert corrupted.action == Repeat(first.part)
    assert corrupted.mask
    assert last == second
    fail = Fail("ModelStreamError", "x")
    _, corrupted = FaultPlan(Faults(corrupt_crc=1)).transform([fail], 0)
    assert isinstance(corrupted, Corrupted)
    assert corrupted.action == fail


# --- connections and time ---


def test_close_ends_the_session_after_its_part_whatever_comes_with_it() -> None:
    plan = FaultPlan(Faults(close=CloseFault(1012, "back soon", 2)))
    assert plan.begin(0) == []
    out = plan.transform([*sent(text("a"), text("b"), text("c")), CloseContainer(1000), EndOutput()], 0)
    a, b, close, fail, end = others(out)
    assert [a, b] == sent(text("a"), text("b"))
    assert close == CloseContainer(1012, "back soon")
    assert isinstance(fail, Fail)
    assert (fail.kind, "1012 'back soon' (fault on demand: close)" in fail.message) == ("InternalStreamFailure", True)
    assert end == EndOutput()
    assert plan.ended


def test_close_at_once() -> None:
    plan = FaultPlan(Faults(close=CloseFault(1001)))
    assert [type(action) for action in others(plan.begin(0))] == [CloseContainer, Fail, EndOutput]
    assert plan.ended


@pytest.mark.parametrize(("name", "kind"), [("reset_after", ResetClient), ("drop_client", DropClient)])
def test_the_client_is_cut_off_after_so_many_parts(name: str, kind: type) -> None:
    faults: dict[str, Any] = {name: 2}
    plan = FaultPlan(Faults(**faults))
    assert plan.begin(0) == []
    out = plan.transform(answers(text("a"), text("b")), 0)
    assert others(out) == [*answers(text("a"), text("b")), kind()]
    assert notes(out) == [f"{name}=2"]
    faults[name] = 0
    assert others(FaultPlan(Faults(**faults)).begin(0)) == [kind()]


def test_cut_after_and_ping_storm_come_when_they_are_due() -> None:
    plan = FaultPlan(Faults(cut_after=100, ping_storm=30))
    assert notes(plan.begin(1000)) == ["ping_storm=30"]
    assert plan.due == 1030
    assert plan.tick(1029.9) == []
    assert plan.tick(1030) == [StormPing(1)]
    assert plan.tick(1065) == [StormPing(2)]
    assert plan.due == 1090
    assert plan.tick(1090) == [StormPing(3)]
    note, cut = plan.tick(1100)
    assert notes([note]) == ["cut_after=100"]
    assert cut == Cut()
    assert plan.due == 1120


def test_withhold_pongs() -> None:
    modes: dict[Any, tuple[bool, bool]] = {
        None: (True, True),
        "sent": (False, True),
        "received": (True, False),
        "both": (False, False),
    }
    for mode, expected in modes.items():
        plan = FaultPlan(Faults(withhold_pongs=mode))
        assert (plan.answers_pings, plan.counts_pongs) == expected


def waits(actions: Actions) -> list[float]:
    return [action.at for action in actions if isinstance(action, WaitUntil)]


@pytest.mark.parametrize(
    ("direction", "up", "down"),
    [
        ("both", [101.0, 103.0], [101.0, 103.0]),
        ("to-container", [101.0, 103.0], []),
        ("to-client", [], [101.0, 103.0]),
    ],
)
def test_bandwidth(direction: Any, up: list[float], down: list[float]) -> None:
    parts = PayloadPart(bytes(10)), PayloadPart(bytes(20))
    plan = FaultPlan(Faults(bandwidth=10, direction=direction))
    assert notes(plan.begin(100)) == ["bandwidth=10"] * (bool(up) + bool(down))
    assert waits(plan.transform(sent(*parts), 100)) == up
    assert waits(plan.transform(answers(*parts), 100)) == down
    assert waits(plan.transform(sent(parts[0]), 200)) == [201.0] * bool(up)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 5))), st.none() | st.floats(1, 1e6), st.integers())
def test_jitter_is_bounded_and_keeps_the_order(
    sizes: list[tuple[int, float]], bandwidth: float | None, seed: int
) -> None:
    paced = Pacer(bandwidth, 0.5, Random(seed))  # noqa: S311  # repeatable, not secret
    exact = Pacer(bandwidth, None, Random(seed))  # noqa: S311  # repeatable, not secret
    now, last = 0.0, 0.0
    for size, gap in sizes:
        now += gap
        at, least = paced.ready(size, now), exact.ready(size, now)
        assert max(least, last) <= at <= least + 0.5
        last = at
