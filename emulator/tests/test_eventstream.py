import itertools
import uuid
from collections.abc import Mapping
from io import BytesIO

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st
from smithy_aws_event_stream.events import Byte, Event, EventMessage, Long, Short

from emulator.wire.eventstream import Decoder, Header, HeaderType, Message, encode, encode_headers, string_header
from emulator.wire.exceptions import (
    ChecksumMismatchError,
    EventStreamError,
    MalformedMessageError,
    MessageTooLargeError,
    TruncatedMessageError,
)

# captured from a server test: payload "hello 1", DataType=UTF8, CompletionState=COMPLETE
CAPTURED = bytes.fromhex(
    "0000009b0000008429218e510d3a6d6573736167652d747970650700056576656e740b3a6576656e742d7479706507000b5061796c6f6164"
    "506172740d3a636f6e74656e742d747970650700186170706c69636174696f6e2f6f637465742d73747265616d0844617461547970650700"
    "04555446380f436f6d706c6574696f6e5374617465070008434f4d504c45544568656c6c6f2031520a371e"
)

names = st.text(min_size=1, max_size=40).filter(lambda name: 0 < len(name.encode()) <= 255)
values = st.one_of(
    st.booleans().map(lambda flag: Header(HeaderType.TRUE if flag else HeaderType.FALSE, flag)),
    st.integers(-(2**7), 2**7 - 1).map(lambda number: Header(HeaderType.INT8, number)),
    st.integers(-(2**15), 2**15 - 1).map(lambda number: Header(HeaderType.INT16, number)),
    st.integers(-(2**31), 2**31 - 1).map(lambda number: Header(HeaderType.INT32, number)),
    st.integers(-(2**63), 2**63 - 1).map(lambda number: Header(HeaderType.INT64, number)),
    st.integers(0, 4_000_000_000_000).map(lambda number: Header(HeaderType.TIMESTAMP, number)),
    st.binary(max_size=300).map(lambda raw: Header(HeaderType.BYTES, raw)),
    st.text(max_size=80).map(string_header),
    st.uuids().map(lambda value: Header(HeaderType.UUID, value)),
)
messages = st.builds(Message, st.dictionaries(names, values, max_size=6), st.binary(max_size=2000))


def smithy_value(header: Header) -> object:
    """Return a header's value as the SDK's own encoder wants it: the size of a number is its Python type."""
    sizes = {HeaderType.INT8: Byte, HeaderType.INT16: Short, HeaderType.INT64: Long}
    return sizes[header.type](header.value) if header.type in sizes else header.value


def read_to_the_end(raw: bytes) -> list[Message]:
    decoder = Decoder()
    received = list(decoder.feed(raw))
    decoder.finish()
    return received


def comparable(headers: Mapping[str, Header]) -> dict[str, object]:
    return {name: header.value for name, header in headers.items()}


def test_reads_and_writes_a_captured_response_event() -> None:
    (message,) = Decoder().feed(CAPTURED)
    assert message.payload == b"hello 1"
    assert message.string("DataType") == "UTF8"
    assert message.string("CompletionState") == "COMPLETE"
    assert encode(message.headers, message.payload) == CAPTURED


@given(messages)
def test_what_is_encoded_decodes_to_the_same(message: Message) -> None:
    decoder = Decoder()
    assert list(decoder.feed(encode(message.headers, message.payload))) == [message]
    decoder.finish()


@given(st.lists(messages, min_size=1, max_size=5), st.lists(st.integers(0, 10_000), max_size=8))
def test_any_fragmentation_gives_the_same_messages(sent: list[Message], cuts: list[int]) -> None:
    stream = b"".join(encode(message.headers, message.payload) for message in sent)
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    decoder = Decoder()
    received: list[Message] = []
    for start, end in itertools.pairwise(edges):
        received += decoder.feed(stream[start:end])
    decoder.finish()
    assert received == sent


@given(messages.filter(lambda message: all(h.type is not HeaderType.TIMESTAMP for h in message.headers.values())))
def test_bytes_are_those_of_the_sdk_s_encoder(message: Message) -> None:
    headers = {name: smithy_value(header) for name, header in message.headers.items()}
    oracle = EventMessage(headers=headers, payload=message.payload).encode()  # type: ignore[arg-type]
    assert encode(message.headers, message.payload) == oracle


@given(messages)
def test_the_sdk_s_decoder_reads_what_is_encoded(message: Message) -> None:
    event = Event.decode(BytesIO(encode(message.headers, message.payload)))
    assert event is not None
    assert event.message.payload == message.payload
    for name, header in message.headers.items():
        read = event.message.headers[name]
        if header.type is HeaderType.TIMESTAMP:
            assert round(read.timestamp() * 1000) == header.value  # type: ignore[union-attr]
        else:
            assert read == header.value


@given(messages)
def test_botocore_reads_what_is_encoded(message: Message) -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(encode(message.headers, message.payload))
    event = next(buffer)
    expected = {n: v.bytes if isinstance(v, uuid.UUID) else v for n, v in comparable(message.headers).items()}
    assert event.payload == message.payload
    assert event.headers == expected


@given(messages, st.integers(0, 10_000), st.integers(1, 255))
def test_one_changed_byte_never_passes(message: Message, at: int, change: int) -> None:
    raw = bytearray(encode(message.headers, message.payload))
    raw[at % len(raw)] ^= change
    with pytest.raises(EventStreamError):
        read_to_the_end(bytes(raw))


@given(st.binary(min_size=1, max_size=200))
def test_rubbish_is_an_event_stream_error_with_a_text(raw: bytes) -> None:
    with pytest.raises(EventStreamError, match="event stream message"):
        read_to_the_end(raw)


def test_a_wrong_message_crc_is_named() -> None:
    with pytest.raises(ChecksumMismatchError, match=r"the message CRC-32 .* damaged"):
        list(Decoder().feed(CAPTURED[:-1] + b"\x00"))


def test_a_wrong_prelude_crc_is_seen_before_the_rest_arrives() -> None:
    with pytest.raises(ChecksumMismatchError, match="the prelude CRC-32"):
        list(Decoder().feed(b"\x7f\xff\xff\xff" + CAPTURED[4:12]))


@given(st.lists(messages, min_size=1, max_size=5), st.integers(0, 10_000))
def test_messages_before_a_broken_one_are_given_wherever_the_bytes_are_cut(sent: list[Message], cut: int) -> None:
    stream = b"".join(encode(message.headers, message.payload) for message in sent) + CAPTURED[:-1] + b"\x00"
    decoder = Decoder()
    received: list[Message] = []
    at = cut % len(stream)
    received.extend(decoder.feed(stream[:at]))
    with pytest.raises(ChecksumMismatchError):
        received.extend(decoder.feed(stream[at:]))  # what comes before the error is in the list
    assert received == sent


def test_an_end_inside_a_message_says_how_much_was_there() -> None:
    decoder = Decoder()
    decoder.feed(CAPTURED[:100])
    with pytest.raises(TruncatedMessageError, match="after 100 of 155 bytes"):
        decoder.finish()


def test_an_end_inside_the_prelude_is_truncated_too() -> None:
    decoder = Decoder()
    decoder.feed(CAPTURED[:5])
    with pytest.raises(TruncatedMessageError, match="after 5 bytes"):
        decoder.finish()


def test_sizes_over_the_limits_are_refused_from_the_prelude_alone() -> None:
    head = encode({}, bytes(101))[:12]
    with pytest.raises(MessageTooLargeError, match="a payload of 101 bytes, at most 100"):
        list(Decoder(max_payload=100).feed(head))
    head = encode({"name": string_header("x" * 50)})[:12]
    with pytest.raises(MessageTooLargeError, match="headers of 58 bytes, at most 57"):
        list(Decoder(max_headers=57).feed(head))


def test_a_header_twice_is_malformed() -> None:
    block = encode_headers({"a": string_header("1")}) * 2
    with pytest.raises(MalformedMessageError, match="'a' stands twice"):
        list(Decoder().feed(encode(block)))


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x05abc", "breaks off"),
        (b"\x01a\x0a", "type 10"),
        (b"\x01a\x07\x00\x05xy", "breaks off"),
        (b"\x01\xff\x00", "not UTF-8"),
        (b"\x01a\x08\x00\x00", "breaks off"),
    ],
)
def test_broken_header_blocks_are_malformed(block: bytes, text: str) -> None:
    with pytest.raises(MalformedMessageError, match=text):
        list(Decoder().feed(encode(block)))


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"": string_header("x")}, ValueError),
        ({"n" * 256: string_header("x")}, ValueError),
        ({"n": string_header("x" * 32_768)}, ValueError),
        ({"n": Header(HeaderType.INT8, 128)}, ValueError),
        ({"n": Header(HeaderType.BYTES, 5)}, TypeError),
        ({"n": Header(HeaderType.UUID, b"x")}, TypeError),
    ],
)
def test_headers_that_the_format_cannot_hold_are_refused(headers: dict[str, Header], error: type[Exception]) -> None:
    with pytest.raises(error):
        encode_headers(headers)
