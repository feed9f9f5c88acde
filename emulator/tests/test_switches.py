"""Every value of every switch does what its help says."""

from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Switches, facts
from emulator.switches import switches
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.stage import UNSIGNED, exception, stage
from emulator.wire.eventstream import Decoder
from emulator.wire.exceptions import MessageTooLargeError
from emulator.wire.frames import Frame, Opcode
from emulator.wire.parts import CompletionState, DataType, PayloadPart, encode_part
from emulator.wire.session import Action, CloseContainer, Disconnect, EndOutput, Fail, Reset, SendFrame, Session

DEFAULTS = Switches()


def session(**changes: object) -> Session:
    return Session(replace(DEFAULTS, **changes))  # type: ignore[arg-type]  # names and values stand in the tests


def kinds(actions: list[Action]) -> list[str]:
    return [action.kind if isinstance(action, Fail) else type(action).__name__ for action in actions]


def test_every_switch_has_a_fact_and_its_default_is_one_of_its_choices() -> None:
    known = facts.table()
    for switch in switches():
        assert switch.fact.id in known
        assert switch.text
        if switch.choices:
            assert switch.default in switch.choices


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("window", 3_000_000_000, r"window \(--window\) is 3000000000; expected is 1 to 2147483647$"),
        ("max_streams", 0, "expected is 1 to 10000$"),
        ("ping_interval", 0.0, r"expected is 0.001 to 1000000000 seconds$"),
        ("max_duration", float("nan"), "is nan; expected is 0 to"),
        ("model_timeout", float("inf"), "is inf; expected is 0 to"),
        ("idle_timeout", -1.0, "is -1.0; expected is 0 to"),
        ("close_code_out", 1006, "close code 1006 cannot stand in a Close frame"),
        ("close_code_out", 99, "close code 99 cannot stand in a Close frame"),
        ("request_id_header", "", "is ''; expected is the name of a header"),
        ("request_id_header", ":status", "is ':status'; expected is the name of a header"),
        ("request_id_header", "request id", "expected is the name of a header"),
        ("request_id_header", "Content-Type", "none that the response has already"),
        ("request_id_header", "connection", "or that belongs to the connection"),
        ("client_end", "closed", "is 'closed'; expected is one of close, half-close"),
    ],
)
def test_a_value_that_cannot_work_is_refused(name: str, value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(DEFAULTS, **{name: value})  # type: ignore[arg-type]


def test_every_unknown_of_the_facts_table_is_a_switch() -> None:
    switched = {switch.fact.id for switch in switches()}
    assert [fact_id for fact_id in facts.table() if fact_id.startswith("unk.") and fact_id not in switched] == []


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("model-error", ["CloseContainer", "ModelStreamError", "EndOutput"]),
        ("internal-failure", ["CloseContainer", "InternalStreamFailure", "EndOutput"]),
        ("clean", ["CloseContainer", "EndOutput"]),
        ("reset", ["CloseContainer", "Reset"]),
    ],
)
def test_max_duration_end(end: str, expected: list[str]) -> None:
    assert kinds(session(max_duration_end=end).limit_exceeded("over")) == expected


def test_client_end_half_close_leaves_the_session_open_for_the_answer() -> None:
    half = session(client_end="half-close")
    assert half.client_data(event(b"x") + END_OF_INPUT) == [SendFrame(Frame(Opcode.BINARY, b"x"), PayloadPart(b"x"))]
    assert half.input_ended
    assert not half.ended
    assert len(half.container_frame(Frame(Opcode.BINARY, b"answer"))) == 1
    assert half.container_closed(1000, "") == [EndOutput()]


def test_client_end_grace_lets_the_container_answer_until_it_is_over() -> None:
    graceful = session(client_end_grace=2.0)
    assert graceful.client_data(END_OF_INPUT) == []
    assert len(graceful.container_frame(Frame(Opcode.BINARY, b"answer"))) == 1
    assert graceful.grace_over() == [CloseContainer(1000), EndOutput()]


def test_close_1000_as_an_error() -> None:
    assert kinds(session(close_1000="error").container_closed(1000, "done")) == ["ModelStreamError", "EndOutput"]


def test_close_error_format_generic_hides_code_and_reason() -> None:
    fail, _ = session(close_error_format="generic").container_closed(1011, "secret")
    assert fail == Fail("ModelStreamError", "Model container closed the connection.", None)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("model-error", ["ModelStreamError", "EndOutput"]),
        ("internal-failure", ["InternalStreamFailure", "EndOutput"]),
        ("clean", ["EndOutput"]),
    ],
)
def test_crash_error(end: str, expected: list[str]) -> None:
    assert kinds(session(crash_error=end).container_lost("TCP end")) == expected


def test_close_code_out() -> None:
    assert session(close_code_out=1001).client_end() == [CloseContainer(1001), EndOutput()]


def test_client_drop_disconnect() -> None:
    assert session(client_drop="disconnect").client_gone() == [Disconnect()]


def test_max_part_bytes_may_be_more_than_other_services_allow() -> None:
    payload = bytes(16 * 1024 * 1024 + 1)
    assert kinds(session(max_part_bytes=len(payload)).client_data(event(payload))) == ["SendFrame"]
    assert kinds(session().client_data(event(payload))) == ["CloseContainer", "InternalStreamFailure", "EndOutput"]


def test_max_part_bytes_is_exact() -> None:
    limited = session(max_part_bytes=100)
    assert kinds(limited.client_data(event(bytes(100)))) == ["SendFrame"]
    close, fail, _ = limited.client_data(event(bytes(101)))
    assert close == CloseContainer(1000)
    assert isinstance(fail, Fail)
    assert fail.message == str(MessageTooLargeError("a payload part", 101, 100))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("model-error", ["SendFrame", "CloseContainer", "ModelStreamError", "EndOutput"]),
        ("internal-failure", ["SendFrame", "CloseContainer", "InternalStreamFailure", "EndOutput"]),
        ("ignore", ["SendFrame", "SendFrame"]),
    ],
)
def test_bad_part(value: str, expected: list[str]) -> None:
    raw = event(b"a") + event(b"bad", "TEXT") + event(b"b")
    assert kinds(session(bad_part=value).client_data(raw)) == expected


def test_empty_part_drop() -> None:
    assert kinds(session(empty_part="drop").client_data(event(b"") + event(b"x"))) == ["SendFrame"]
    assert kinds(session().client_data(event(b""))) == ["SendFrame"]


def test_bad_utf8_error_knows_characters_that_are_cut_between_parts() -> None:
    strict = session(bad_utf8="error")
    run = event("é".encode()[:1], "UTF8", "PARTIAL") + event("é".encode()[1:], "UTF8", "COMPLETE")
    assert kinds(strict.client_data(run)) == ["SendFrame", "SendFrame"]
    assert kinds(strict.client_data(event(b"\xff", "BINARY"))) == ["SendFrame"]
    assert kinds(strict.client_data(event(b"\xff", "UTF8"))) == ["CloseContainer", "ModelStreamError", "EndOutput"]
    assert kinds(session().client_data(event(b"\xff", "UTF8"))) == ["SendFrame"]


def test_fragment_type_change_error() -> None:
    raw = event(b"a", "UTF8", "PARTIAL") + event(b"b", "BINARY")
    assert kinds(session(fragment_type_change="error").client_data(raw))[-2:] == ["ModelStreamError", "EndOutput"]
    same = event(b"a", "UTF8", "PARTIAL") + event(b"b", "UTF8") + event(b"c", "BINARY")
    assert kinds(session(fragment_type_change="error").client_data(same)) == ["SendFrame"] * 3


def test_open_fragment_error() -> None:
    raw = event(b"a", "UTF8", "PARTIAL") + END_OF_INPUT
    assert kinds(session(open_fragment="error").client_data(raw))[-2:] == ["ModelStreamError", "EndOutput"]
    assert kinds(session().client_data(raw)) == ["SendFrame", "CloseContainer", "EndOutput"]


@pytest.mark.parametrize(
    ("style", "names"),
    [
        ("always", {"DataType", "CompletionState"}),
        ("type-only", {"DataType"}),
        ("padded", {"DataType", "CompletionState", "P"}),
    ],
)
def test_response_event_headers(style: str, names: set[str]) -> None:
    part = PayloadPart(b"x", DataType.UTF8, CompletionState.COMPLETE)
    (message,) = Decoder().feed(encode_part(part, style))  # type: ignore[arg-type]  # one of the choices
    assert {name for name in message.headers if not name.startswith(":")} == names


def test_text_error_frame_convert() -> None:
    frame = Frame(Opcode.TEXT, b'{"ModelStreamError": {"ErrorCode": "E1", "Message": "no voice"}}')
    actions = session(text_error_frame="convert").container_frame(frame)
    assert actions == [CloseContainer(1000), Fail("ModelStreamError", "no voice", "E1"), EndOutput()]
    for other in (b'{"ModelStreamError": "text"}', b'{"ModelStreamError":' * 50_000):
        assert kinds(session(text_error_frame="convert").container_frame(Frame(Opcode.TEXT, other))) == ["SendPart"]


async def test_a_converted_error_has_the_members_that_the_sdks_read_as_text(state_directory: Path) -> None:
    async def fails(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send('{"ModelStreamError": {"Message": "no voice", "ErrorCode": 17}}')

    async with stage(state_directory, fails, replace(UNSIGNED, text_error_frame="convert")) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"x"))
        message = await on.client.next(stream)
    assert exception(message) == ("ModelStreamError", {"Message": "no voice", "ErrorCode": "17"})


def test_ping_miss_end_clean() -> None:
    assert session(ping_miss_end="clean").container_silent(5) == [CloseContainer(1000), EndOutput()]


def test_a_reset_ends_the_session() -> None:
    cut = session(max_duration_end="reset")
    assert cut.limit_exceeded("over")[-1] == Reset()
    assert cut.ended


def test_strict_enforces_the_documented_accept_limit_and_lenient_waits() -> None:
    assert DEFAULTS.strict().accept_timeout == 0.25
    assert DEFAULTS.strict().close_1000 == "error"
    assert DEFAULTS.lenient().accept_timeout > 60
