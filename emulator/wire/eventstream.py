"""The AWS event stream message format (``application/vnd.amazon.eventstream``): encoder and incremental decoder.

All integers are big-endian::

    total length (4) | headers length (4) | CRC-32 of the eight bytes before (4)
    headers | payload | CRC-32 of everything before (4)

A header is name length (1), name, type (1), value.
"""

import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType

from emulator import facts
from emulator.wire.exceptions import (
    ChecksumMismatchError,
    MalformedMessageError,
    MessageTooLargeError,
    TruncatedMessageError,
)

__all__ = ["Decoder", "Header", "HeaderType", "Message", "encode", "encode_headers", "string_header"]

MAX_HEADERS = facts.integer("event.max-headers")
MAX_PAYLOAD = facts.integer("event.max-payload")

_PRELUDE = struct.Struct("!III")
_LENGTHS = struct.Struct("!II")
_CRC = struct.Struct("!I")
_OVERHEAD = 16
_MAX_NAME = 255
_MAX_VALUE = 32767


class HeaderType(IntEnum):
    """The type byte in front of a header's value."""

    TRUE = 0
    FALSE = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    BYTES = 6
    STRING = 7
    TIMESTAMP = 8
    """Milliseconds since the epoch."""
    UUID = 9


_INTEGERS = {
    HeaderType.INT8: struct.Struct("!b"),
    HeaderType.INT16: struct.Struct("!h"),
    HeaderType.INT32: struct.Struct("!i"),
    HeaderType.INT64: struct.Struct("!q"),
    HeaderType.TIMESTAMP: struct.Struct("!q"),
}
_LENGTH16 = struct.Struct("!H")
_SMALL_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Header:
    """One header's value with its type: bool, int (also a timestamp's milliseconds), bytes, str or UUID."""

    type: HeaderType
    value: bool | int | bytes | str | uuid.UUID


@dataclass(frozen=True, slots=True)
class Message:
    """One event stream message."""

    headers: Mapping[str, Header] = field(default_factory=dict)
    payload: bytes = b""

    def string(self, name: str) -> str | None:
        """Return the value of a string header, None where it is absent or of another type."""
        header = self.headers.get(name)
        return header.value if header is not None and isinstance(header.value, str) else None


def string_header(value: str) -> Header:
    """Return a header of type string."""
    return Header(HeaderType.STRING, value)


def encode_headers(headers: Mapping[str, Header]) -> bytes:
    """Encode a header block, so that one that never changes is built once.

    Raises:
        ValueError: a name or a value is longer than the format allows, or a number does not fit its type.
        TypeError: a value is not of its header's type.
    """
    out = bytearray()
    for name, header in headers.items():
        raw = name.encode()
        if not 0 < len(raw) <= _MAX_NAME:
            raise ValueError(f"header name {name!r} has {len(raw)} bytes, 1 to {_MAX_NAME} are allowed")
        out.append(len(raw))
        out += raw
        out += _encode_value(name, header)
    return bytes(out)


def _encode_value(name: str, header: Header) -> bytes:
    kind, value = header.type, header.value
    mark = bytes((kind,))
    match kind:
        case HeaderType.TRUE | HeaderType.FALSE:
            return mark
        case HeaderType.BYTES | HeaderType.STRING:
            raw = value.encode() if isinstance(value, str) else value
            if not isinstance(raw, bytes):
                raise TypeError(f"header {name!r}: {value!r} is not {kind.name.lower()}")
            if len(raw) > _MAX_VALUE:
                raise ValueError(f"header {name!r} has {len(raw)} bytes, at most {_MAX_VALUE} are allowed")
            return mark + _LENGTH16.pack(len(raw)) + raw
        case HeaderType.UUID:
            if not isinstance(value, uuid.UUID):
                raise TypeError(f"header {name!r}: {value!r} is not a UUID")
            return mark + value.bytes
        case _:
            try:
                return mark + _INTEGERS[kind].pack(value)
            except struct.error as error:
                raise ValueError(f"header {name!r}: {value!r} does not fit {kind.name.lower()} ({error})") from None


def encode(headers: Mapping[str, Header] | bytes, payload: bytes = b"") -> bytes:
    """Encode one message; ``headers`` may be a block from :func:`encode_headers`."""
    block = headers if isinstance(headers, bytes) else encode_headers(headers)
    lengths = _LENGTHS.pack(_OVERHEAD + len(block) + len(payload), len(block))
    prelude_crc = zlib.crc32(lengths)
    head = _CRC.pack(prelude_crc) + block
    crc = zlib.crc32(payload, zlib.crc32(head, prelude_crc))
    return b"".join((lengths, head, payload, _CRC.pack(crc)))


class Decoder:
    """Takes bytes in any fragmentation, gives whole messages.

    Both CRCs are checked, and the announced lengths before the bytes are waited for, so that a damaged or hostile
    length neither stalls the stream nor fills the memory.
    """

    def __init__(self, max_headers: int = MAX_HEADERS, max_payload: int = MAX_PAYLOAD) -> None:
        self._buffer = bytearray()
        self._max_headers = max_headers
        self._max_payload = max_payload

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes, give the messages that they complete, one by one.

        Messages before a fault are given before it is raised, however the bytes were cut on their way.

        Raises:
            EventStreamError: the bytes are no event stream.
        """
        self._buffer += data
        return self._messages()

    def _messages(self) -> Iterator[Message]:
        buffer = self._buffer
        at = 0
        try:
            while len(buffer) - at >= _PRELUDE.size:
                total, headers_length, crc = _PRELUDE.unpack_from(buffer, at)
                self._check_prelude(bytes(buffer[at : at + _LENGTHS.size]), total, headers_length, crc)
                if len(buffer) - at < total:
                    break
                message = _decode_one(bytes(buffer[at : at + total]), headers_length)
                at += total
                yield message
        finally:
            del buffer[:at]

    def finish(self) -> None:
        """Say that no more bytes come.

        Raises:
            TruncatedMessageError: the input ended inside a message.
        """
        if self._buffer:
            known = len(self._buffer) >= _PRELUDE.size
            wanted = _LENGTHS.unpack_from(self._buffer)[0] if known else None
            raise TruncatedMessageError(len(self._buffer), wanted)

    def _check_prelude(self, lengths: bytes, total: int, headers_length: int, crc: int) -> None:
        computed = zlib.crc32(lengths)
        if computed != crc:
            raise ChecksumMismatchError("prelude", crc, computed)
        if headers_length > self._max_headers:
            raise MessageTooLargeError("headers", headers_length, self._max_headers)
        payload_length = total - headers_length - _OVERHEAD
        if payload_length < 0:
            raise MalformedMessageError(
                f"an event stream message announces {total} bytes in all and {headers_length} of headers: "
                f"at least {headers_length + _OVERHEAD} are needed"
            )
        if payload_length > self._max_payload:
            raise MessageTooLargeError("a payload", payload_length, self._max_payload)


def _decode_one(raw: bytes, headers_length: int) -> Message:
    crc = _CRC.unpack_from(raw, len(raw) - _CRC.size)[0]
    computed = zlib.crc32(memoryview(raw)[: -_CRC.size])
    if computed != crc:
        raise ChecksumMismatchError("message", crc, computed)
    end = _PRELUDE.size + headers_length
    block = raw[_PRELUDE.size : end]
    headers = _decode_known(block) if len(block) <= _SMALL_BLOCK else _decode_headers(block)
    return Message(headers, raw[end : -_CRC.size])


@lru_cache(maxsize=64)  # the parts of a stream differ in their payload only: their block is decoded once
def _decode_known(block: bytes) -> Mapping[str, Header]:
    return MappingProxyType(_decode_headers(block))


def _decode_headers(block: bytes) -> dict[str, Header]:
    headers: dict[str, Header] = {}
    at = 0
    while at < len(block):
        try:
            size = block[at]
            name = _exactly(block, at + 1, size).decode()
            at += 1 + size
            kind = HeaderType(block[at])
            at, value = _decode_value(block, at + 1, kind)
        except (IndexError, struct.error, UnicodeDecodeError) as error:
            raise MalformedMessageError(f"a header breaks off or is not UTF-8 at byte {at} of its block") from error
        except ValueError as error:
            raise MalformedMessageError(f"a header has type {block[at]}, known are 0 to 9") from error
        if name in headers:
            raise MalformedMessageError(f"the header {name!r} stands twice in one message")
        headers[name] = Header(kind, value)
    return headers


def _decode_value(block: bytes, at: int, kind: HeaderType) -> tuple[int, bool | int | bytes | str | uuid.UUID]:
    match kind:
        case HeaderType.TRUE | HeaderType.FALSE:
            return at, kind is HeaderType.TRUE
        case HeaderType.BYTES | HeaderType.STRING:
            size = _LENGTH16.unpack_from(block, at)[0]
            raw = _exactly(block, at + _LENGTH16.size, size)
            return at + _LENGTH16.size + size, raw.decode() if kind is HeaderType.STRING else raw
        case HeaderType.UUID:
            return at + 16, uuid.UUID(bytes=_exactly(block, at, 16))
        case _:
            packer = _INTEGERS[kind]
            return at + packer.size, packer.unpack_from(block, at)[0]


def _exactly(block: bytes, at: int, size: int) -> bytes:
    raw = block[at : at + size]
    if len(raw) != size:
        raise IndexError(at)
    return raw
