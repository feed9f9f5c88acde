"""Which faults there are: values, errors, the command line's way to write them, and who gets them."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.fault_settings import FaultSettings
from emulator.wire.faults import CloseFault, FaultError, Faults
from emulator.wire.frames import Frame, Opcode
from emulator.wire.parts import PayloadPart
from emulator.wire.session import Action, SendFrame

COUNT = st.integers(1, 9)
SECONDS = st.floats(0, 1000, allow_nan=False)
REASON = st.text("aé@: ", max_size=30)
CLOSE = st.builds(CloseFault, st.sampled_from([1000, 1001, 1011, 3000, 4999]), REASON, st.integers(0, 9))


def off(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


FAULTS = st.builds(
    Faults,
    data_type=off(st.sampled_from(["omit", "UTF8", "BINARY"])),
    never_complete=off(st.just("run") | COUNT),
    empty_frame=off(COUNT),
    invalid_utf8=off(COUNT),
    split=off(COUNT),
    merge=off(COUNT),
    drop_part=off(COUNT),
    duplicate_part=off(COUNT),
    corrupt_crc=off(COUNT),
    throttle=st.booleans(),
    refuse_upgrade=st.booleans(),
    accept_delay=off(SECONDS),
    withhold_pongs=off(st.sampled_from(["sent", "received", "both"])),
    ping_storm=off(st.floats(0.001, 100)),
    close=off(CLOSE),
    cut_after=off(SECONDS),
    reset_after=off(st.integers(0, 9)),
    drop_client=off(st.integers(0, 9)),
    bandwidth=off(st.floats(1, 1e9)),
    jitter=off(SECONDS),
)


@settings(deadline=None)
@given(FAULTS)
def test_what_is_printed_can_be_read_back(faults: Faults) -> None:
    assert Faults.parse(*([str(faults)] if faults.active else [])) == faults


def test_every_fault_is_off_unless_given() -> None:
    assert not Faults().active
    assert str(Faults()) == ""
    for field in dataclasses.fields(Faults):
        assert field.metadata["text"]
        if field.name != "direction":
            assert not getattr(Faults(), field.name)
    assert [name for name, _, _ in Faults.help()] == [field.name for field in dataclasses.fields(Faults)]


def test_the_command_line_way() -> None:
    assert Faults.parse("throttle, drop_part=2", "data_type=omit") == Faults(
        throttle=True, drop_part=2, data_type="omit"
    )
    assert Faults.parse("never_complete=run,jitter=0.5") == Faults(never_complete="run", jitter=0.5)
    assert Faults.parse("never_complete=3").never_complete == 3
    assert Faults.parse("refuse_upgrade=off") == Faults()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1012", CloseFault(1012)),
        ("1012@3", CloseFault(1012, after=3)),
        ("1012:be right back, or not@3", CloseFault(1012, "be right back, or not", 3)),
        ("4000:at 5 o'clock: a@b", CloseFault(4000, "at 5 o'clock: a@b")),
    ],
)
def test_a_close_is_code_reason_and_parts(text: str, expected: CloseFault) -> None:
    assert Faults.parse(f"close={text},split=1") == Faults(close=expected, split=1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("drop-part=1", "there is no fault 'drop-part'. Did you mean drop_part?"),
        ("dorp_part=1", "Did you mean drop_part?"),
        ("xyz=1", "Known are data_type, never_complete,"),
        ("", "there is no fault ''"),
        ("split=1,split=2", "fault split is given twice"),
        ("split", "fault split needs a value: a whole number, 1 or more"),
        ("split=0", "fault split=0: expected is a whole number, 1 or more (the N-th part becomes two frames)"),
        ("split=1.5", "expected is a whole number"),
        ("split=two", "fault split='two': expected is a whole number, 1 or more"),
        ("reset_after=-1", "expected is a whole number, 0 or more"),
        ("jitter=nan", "expected is seconds, 0 or more"),
        ("cut_after=inf", "expected is seconds, 0 or more"),
        ("ping_storm=0", "expected is seconds, 0.001 or more"),
        ("bandwidth=0", "expected is bytes per second, 1 or more"),
        ("bandwidth=1" + "0" * 400, "expected is bytes per second, 1 or more"),
        ("jitter=1" + "0" * 5000, "expected is seconds, 0 or more"),
        ("data_type=TEXT", "fault data_type='TEXT': expected is omit or UTF8 or BINARY"),
        ("withhold_pongs=all", "expected is sent or received or both"),
        ("throttle=maybe", "expected is true or false"),
        ("never_complete=never", "expected is 'run' or a whole number"),
        ("close=1006", "close code 1006 cannot stand in a Close frame"),
        ("close=999", "close code 999 cannot stand in a Close frame"),
        ("close=2000", "close code 2000 cannot stand in a Close frame"),
        ("close=going away", "is no CODE[:REASON][@PARTS]"),
        ("close=1000:" + "é" * 62, "at most 123 bytes of UTF-8, this one has 124"),
        ("direction=to-client", "it says where bandwidth and jitter act; give one of them"),
    ],
)
def test_an_error_says_what_is_expected(text: str, error: str) -> None:
    with pytest.raises(FaultError) as raised:
        Faults.parse(text)
    assert error in str(raised.value)


def test_values_are_checked_in_python_too() -> None:
    wrong: list[dict[str, Any]] = [
        {"drop_part": True},
        {"split": "1"},
        {"throttle": 1},
        {"close": 1012},
        {"jitter": -1},
    ]
    for values in wrong:
        with pytest.raises(FaultError, match=f"fault {next(iter(values))}="):
            Faults(**values)
    with pytest.raises(FaultError, match="a Close after -1 parts"):
        CloseFault(1000, after=-1)


def test_an_endpoint_of_its_own_faults_and_the_others() -> None:
    settings = FaultSettings()
    assert settings.plan("a") is None
    settings.set(Faults(split=1))
    settings.set(Faults(merge=1), "a")
    settings.set(Faults(), "b")
    faults = {name: plan and plan.faults for name in "abc" for plan in [settings.plan(name)]}
    assert faults == {"a": Faults(merge=1), "b": None, "c": Faults(split=1)}
    settings.set(None, "a")
    plan = settings.plan("a")
    assert plan is not None
    assert plan.faults == Faults(split=1)


def test_what_was_set_before_comes_back_also_after_an_error() -> None:
    settings = FaultSettings(Faults(split=1))

    def fail() -> None:
        with settings.override(Faults(throttle=True)):
            inside = settings.plan("a")
            assert inside is not None
            assert inside.faults == Faults(throttle=True)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    plan = settings.plan("a")
    assert plan is not None
    assert plan.faults == Faults(split=1)


def test_sessions_differ_and_the_same_ones_meet_the_same_again() -> None:
    parts = [PayloadPart(bytes(10))] * 5
    actions: list[Action] = [SendFrame(Frame(Opcode.BINARY, part.data), part) for part in parts]

    def outcomes(settings: FaultSettings) -> list[str]:
        plans = [settings.plan("a") for _ in range(3)]
        return [str(plan.transform(actions, 0)) for plan in plans if plan is not None]

    settings = FaultSettings(Faults(jitter=1), seed=7)
    first = outcomes(settings)
    assert len(set(first)) == 3
    settings.set(Faults(jitter=1))
    assert outcomes(settings) == first
    settings.set(Faults(jitter=1), seed=8)
    assert outcomes(settings) != first
