"""Messages of the test vectors that the AWS SDKs share for the event stream encoding."""

import pytest

from emulator.wire.eventstream import Decoder, Header, HeaderType, encode, string_header
from emulator.wire.exceptions import WireError

JSON = b"{'foo':'bar'}"
VECTORS: dict[str, tuple[bytes, dict[str, Header], bytes]] = {
    "empty message": (b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff", {}, b""),
    "byte header": (
        b"\x00\x00\x00\x17\x00\x00\x00\x07)\x86\x01X\x04byte\x02\xff\xc2\xf8i\xdc",
        {"byte": Header(HeaderType.INT8, -1)},
        b"",
    ),
    "short header": (
        b"\x00\x00\x00\x19\x00\x00\x00\tq\x0e\x92>\x05short\x03\xff\xff\xb2|\xb6\xcc",
        {"short": Header(HeaderType.INT16, -1)},
        b"",
    ),
    "payload without headers": (
        b"\x00\x00\x00\x1d\x00\x00\x00\x00\xfdR\x8cZ{'foo':'bar'}\xc3e96",
        {},
        JSON,
    ),
    "payload and one string header": (
        (
            b"\x00\x00\x00=\x00\x00\x00 \x07\xfd\x83\x96"
            b"\x0ccontent-type\x07\x00\x10application/json{'foo':'bar'}\x8d\x9c\x08\xb1"
        ),
        {"content-type": string_header("application/json")},
        JSON,
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_shared_vector_is_read_and_written(name: str) -> None:
    raw, headers, payload = VECTORS[name]
    (message,) = Decoder().feed(raw)
    assert (message.headers, message.payload) == (headers, payload)
    assert encode(headers, payload) == raw


@pytest.mark.parametrize("name", VECTORS)
def test_the_same_with_a_wrong_checksum_is_refused(name: str) -> None:
    raw = VECTORS[name][0]
    for at in (8, len(raw) - 1):  # of the prelude, of the message
        with pytest.raises(WireError):
            list(Decoder().feed(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]))
