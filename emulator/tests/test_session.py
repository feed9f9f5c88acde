"""The state machine, event by event."""

import json

import pytest

from emulator.wire.eventstream import Header, HeaderType, encode, string_header
from emulator.wire.frames import Frame, Opcode
from emulator.wire.parts import CompletionState, DataType, PayloadPart
from emulator.wire.session import CloseContainer, EndOutput, Fail, SendFrame, SendPart, Session

SIGNATURE = {":date": Header(HeaderType.TIMESTAMP, 0), ":chunk-signature": Header(HeaderType.BYTES, bytes(32))}
END = encode(SIGNATURE)


def part_event(data: bytes, *, event_type: str = "PayloadPart", **members: str) -> bytes:
    headers = {":message-type": "event", ":event-type": event_type, **members}
    inner = encode({name: string_header(value) for name, value in headers.items()}, data)
    return encode(SIGNATURE, inner)


def test_two_parts_in_one_read_are_two_frames() -> None:
    actions = Session().client_data(part_event(b"a") + part_event(b"b", DataType="UTF8"))
    assert actions == [
        SendFrame(Frame(Opcode.BINARY, b"a"), PayloadPart(b"a")),
        SendFrame(Frame(Opcode.TEXT, b"b"), PayloadPart(b"b", DataType.UTF8)),
    ]


def test_a_frame_of_the_container_is_one_part() -> None:
    frame = Frame(Opcode.TEXT, b"{}")
    part = PayloadPart(b"{}", DataType.UTF8, CompletionState.COMPLETE)
    assert Session().container_frame(frame) == [SendPart(part, frame)]


@pytest.mark.parametrize("signed", [True, False])
def test_the_end_of_input_closes_the_container_and_ends_the_output(signed: bool) -> None:
    session = Session()
    actions = session.client_data(END) if signed else session.client_end()
    assert actions == [CloseContainer(1000), EndOutput()]
    assert session.ended


def test_parts_before_the_end_of_input_still_arrive() -> None:
    actions = Session().client_data(part_event(b"a") + END)
    assert [type(action) for action in actions] == [SendFrame, CloseContainer, EndOutput]


def test_nothing_happens_after_the_end() -> None:
    session = Session()
    session.client_data(END)
    assert session.client_data(part_event(b"late")) == []
    assert session.client_end() == []
    assert session.container_frame(Frame(Opcode.BINARY, b"late")) == []
    assert session.container_closed(1011, "late") == []
    assert session.container_lost("late") == []
    assert session.client_gone() == []
    assert session.service_failed("late") == []


@pytest.mark.parametrize("code", [1000, 1001, 1005])
def test_a_container_that_is_done_gives_a_clean_end(code: int) -> None:
    assert Session().container_closed(code, "") == [EndOutput()]


def test_another_close_code_becomes_a_model_stream_error_with_code_and_reason() -> None:
    assert Session().container_closed(1011, "out of memory") == [
        Fail("ModelStreamError", "out of memory", "1011"),
        EndOutput(),
    ]


def test_a_close_without_a_reason_still_says_what_happened() -> None:
    fail, end = Session().container_closed(4000, "")
    assert fail == Fail("ModelStreamError", "The container closed the WebSocket with code 4000.", "4000")
    assert end == EndOutput()


def test_a_close_inside_a_fragmented_message_is_no_clean_end() -> None:
    session = Session()
    session.container_frame(Frame(Opcode.BINARY, b"half", fin=False))
    fail, _ = session.container_closed(1000, "")
    assert isinstance(fail, Fail)
    assert "left a fragmented message unfinished" in fail.message


def test_a_dropped_connection_is_never_a_clean_end() -> None:
    fail, end = Session().container_lost("The container dropped the connection.")
    assert isinstance(fail, Fail)
    assert (fail.kind, fail.error_code) == ("ModelStreamError", "1006")
    assert fail.message == "The container dropped the connection."
    assert end == EndOutput()


def test_a_client_that_is_gone_gets_nothing_and_the_container_a_close() -> None:
    assert Session().client_gone() == [CloseContainer(1000)]


def test_a_damaged_event_ends_the_stream_with_an_exception_after_the_good_ones() -> None:
    broken = part_event(b"b")[:-1] + b"\x00"
    session = Session()
    assert [type(action) for action in session.client_data(part_event(b"a"))] == [SendFrame]
    close, fail, end = session.client_data(broken)
    assert close == CloseContainer(1000)
    assert isinstance(fail, Fail)
    assert fail.kind == "InternalStreamFailure"
    assert "CRC-32" in fail.message
    assert end == EndOutput()


def test_an_input_that_ends_inside_an_event_is_no_clean_end() -> None:
    session = Session()
    session.client_data(part_event(b"abc")[:50])
    _, fail, _ = session.client_end()
    assert isinstance(fail, Fail)
    assert fail.kind == "InternalStreamFailure"
    assert "after 50 of" in fail.message


def test_a_part_with_a_forbidden_header_is_a_model_stream_error() -> None:
    frame, close, fail, end = Session().client_data(part_event(b"a") + part_event(b"b", DataType="TEXT"))
    assert isinstance(frame, SendFrame)
    assert close == CloseContainer(1000)
    assert isinstance(fail, Fail)
    assert (fail.kind, fail.error_code) == ("ModelStreamError", "InvalidPayloadPart")
    assert end == EndOutput()


def test_a_mute_container_is_named_as_such() -> None:
    close, fail, end = Session().container_silent(5)
    assert close == CloseContainer(1000)
    assert isinstance(fail, Fail)
    assert "none of the last 5 pings" in fail.message
    assert end == EndOutput()


def test_a_stopped_emulator_says_so_to_both_sides() -> None:
    assert Session().service_failed("stopped") == [
        CloseContainer(1001),
        Fail("InternalStreamFailure", "stopped"),
        EndOutput(),
    ]


def test_bytes_are_never_looked_at() -> None:
    data = json.dumps({"ModelStreamError": {"ErrorCode": "X", "Message": "y"}}).encode()
    (action,) = Session().container_frame(Frame(Opcode.TEXT, data))
    assert isinstance(action, SendPart)
    assert action.part.data == data


@pytest.mark.parametrize(("code", "error_code"), [(1011, "1011"), (None, "1006")])
def test_an_end_of_input_is_no_success_when_the_container_has_failed_already(code: int | None, error_code: str) -> None:
    session = Session()
    session.container_end_seen(code, "model died")
    fail, end = session.client_data(END)
    assert isinstance(fail, Fail)
    assert (fail.kind, fail.error_code) == ("ModelStreamError", error_code)
    assert end == EndOutput()
