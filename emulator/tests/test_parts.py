import pytest

from emulator.wire.eventstream import Decoder, Header, HeaderType, Message, encode, string_header
from emulator.wire.exceptions import BadPartError, MalformedMessageError, TruncatedMessageError
from emulator.wire.parts import (
    END_OF_INPUT,
    CompletionState,
    DataType,
    PayloadPart,
    encode_exception,
    encode_part,
    read_request_event,
)

# captured from the Python SDK 0.12.0
SIGNED = bytes.fromhex(
    "000000bd0000004362a003e6053a6461746508000001a227d3faa9103a6368756e6b2d7369676e6174757265060020bae3b7d5bea7cd60659c"
    "a4679648437048402e3f4fb5cb3a180d371913b9482f0000006a00000059a41759d50d3a6d6573736167652d747970650700056576656e740b"
    "3a6576656e742d7479706507000b5061796c6f6164506172740d3a636f6e74656e742d747970650700186170706c69636174696f6e2f6f6374"
    "65742d73747265616d78648684620b39ddf7"
)
END = bytes.fromhex(
    "0000005300000043f5447a58053a6461746508000001a227d3faab103a6368756e6b2d7369676e6174757265060020d359c660239b49c7207b"
    "babdffe5ec7e0bc5a5ee793eac72e3232d30ba60cbbbaa1e242c"
)
ALL_MEMBERS = bytes.fromhex(
    "000000a00000008a18682ac10d3a6d6573736167652d747970650700056576656e740b3a6576656e742d7479706507000b5061796c6f6164506172"
    "74084461746154797065070004555446380f436f6d706c6574696f6e53746174650700075041525449414c015007000278780d3a636f6e74656e74"
    "2d747970650700186170706c69636174696f6e2f6f637465742d73747265616d74776f20c3a9e0c38ef6"
)
# from the JavaScript SDK's runtime: other order of headers, DataType=BINARY
SIGNED_JS = bytes.fromhex(
    "000000d500000043cbe23f6a053a6461746508000001a227d33764103a6368756e6b2d7369676e6174757265060020914463c00528a08d9a7c"
    "ee39aac6f845bae32c39023e031facdc1c8a47632313000000820000006b7464844b0b3a6576656e742d7479706507000b5061796c6f616450"
    "6172740d3a6d6573736167652d747970650700056576656e740d3a636f6e74656e742d747970650700186170706c69636174696f6e2f6f6374"
    "65742d73747265616d08446174615479706507000642494e41525968656c6c6f20302fe1e496f6651406"
)
MODEL_ERROR = bytes.fromhex(
    "0000009c0000005efd07698b0d3a6d6573736167652d74797065070009657863657074696f6e0f3a657863657074696f6e2d747970650700"
    "104d6f64656c53747265616d4572726f720d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b224d657373"
    "616765223a226d6f64656c2064696564222c224572726f72436f6465223a224d4f44454c5f58227d496ccb33"
)


def read(raw: bytes) -> object:
    (message,) = Decoder().feed(raw)
    return read_request_event(message)


def event(payload: bytes = b"x", **members: Header) -> Message:
    headers = {":message-type": string_header("event"), ":event-type": string_header("PayloadPart"), **members}
    return Message(headers, payload)


def test_a_signed_event_of_the_python_sdk_is_a_part_without_data_type() -> None:
    assert read(SIGNED) == PayloadPart(b"x")


def test_a_signed_event_of_the_javascript_sdk() -> None:
    assert read(SIGNED_JS) == PayloadPart(b"hello 0", DataType.BINARY)


def test_the_signed_empty_event_ends_the_input() -> None:
    assert read(END) is END_OF_INPUT


def test_an_unsigned_event_with_all_members() -> None:
    assert read(ALL_MEMBERS) == PayloadPart("two é".encode(), DataType.UTF8, CompletionState.PARTIAL)


def test_an_empty_part_is_not_the_end_of_input() -> None:
    inner = event(b"")
    signature = Header(HeaderType.BYTES, bytes(32))
    outer = Message({":chunk-signature": signature}, encode(inner.headers, inner.payload))
    assert read_request_event(outer) == PayloadPart(b"")


@pytest.mark.parametrize("value", ["TEXT", "utf8", ""])
def test_a_forbidden_data_type_names_what_is_allowed(value: str) -> None:
    with pytest.raises(BadPartError, match=f"DataType '{value}'; allowed is UTF8 or BINARY, or no DataType"):
        read_request_event(event(DataType=string_header(value)))


def test_a_data_type_that_is_no_string_is_refused() -> None:
    with pytest.raises(BadPartError, match="DataType 8"):
        read_request_event(event(DataType=Header(HeaderType.INT32, 8)))


def test_a_forbidden_completion_state_names_what_is_allowed() -> None:
    with pytest.raises(BadPartError, match="'DONE'; allowed is PARTIAL or COMPLETE"):
        read_request_event(event(CompletionState=string_header("DONE")))


def test_another_event_than_a_payload_part_is_refused() -> None:
    headers = {":message-type": string_header("event"), ":event-type": string_header("Ping")}
    with pytest.raises(BadPartError, match="'Ping' arrived; the only request event is 'PayloadPart'"):
        read_request_event(Message(headers))


def test_a_wrapper_around_half_a_message_is_truncated() -> None:
    inner = encode(event().headers, b"x")
    signature = Header(HeaderType.BYTES, bytes(32))
    with pytest.raises(TruncatedMessageError):
        read_request_event(Message({":chunk-signature": signature}, inner[:-3]))
    with pytest.raises(MalformedMessageError, match="holds 2 messages"):
        read_request_event(Message({":chunk-signature": signature}, inner * 2))


def test_a_response_part_carries_its_type_and_state() -> None:
    (message,) = Decoder().feed(encode_part(PayloadPart(b"\x00\x01", DataType.BINARY, CompletionState.PARTIAL)))
    assert message.payload == b"\x00\x01"
    assert message.string("DataType") == "BINARY"
    assert message.string("CompletionState") == "PARTIAL"
    assert message.string(":content-type") == "application/octet-stream"


def test_an_exception_event_is_the_captured_one() -> None:
    assert encode_exception("ModelStreamError", "model died", "MODEL_X") == MODEL_ERROR
