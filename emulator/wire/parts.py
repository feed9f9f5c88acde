"""Payload parts, and the events that carry them: what a client sends, what it gets back."""

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Literal

from emulator.wire.eventstream import MAX_PAYLOAD, Decoder, Message, encode, encode_headers, string_header
from emulator.wire.exceptions import BadPartError, MalformedMessageError

__all__ = [
    "END_OF_INPUT",
    "CompletionState",
    "DataType",
    "EndOfInput",
    "HeaderStyle",
    "PayloadPart",
    "encode_exception",
    "encode_part",
    "read_request_event",
]


class DataType(StrEnum):
    """The event header ``DataType``; absent counts as BINARY (fact ``frame.default-binary``)."""

    UTF8 = "UTF8"
    BINARY = "BINARY"


class CompletionState(StrEnum):
    """The event header ``CompletionState``; absent counts as COMPLETE (fact ``frame.default-complete``)."""

    PARTIAL = "PARTIAL"
    COMPLETE = "COMPLETE"


@dataclass(frozen=True, slots=True)
class PayloadPart:
    """One payload part. None means that the header was absent, which a trace should show."""

    data: bytes
    data_type: DataType | None = None
    completion_state: CompletionState | None = None


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """The client's signed empty event: no more parts follow (fact ``sign.end-frame``)."""


END_OF_INPUT = EndOfInput()


def read_request_event(message: Message) -> PayloadPart | EndOfInput:
    """Read one message of the request stream, taking off the signing wrapper where there is one.

    Raises:
        EventStreamError: the wrapper does not hold exactly one whole message.
        BadPartError: the event is not a payload part, or one of its headers has a value that the model forbids.
    """
    if ":chunk-signature" in message.headers:
        if not message.payload:
            return END_OF_INPUT
        # what is inside of a message that was let through is not too large either
        decoder = Decoder(max_payload=max(MAX_PAYLOAD, len(message.payload)))
        inner = list(decoder.feed(message.payload))
        decoder.finish()
        if len(inner) != 1:
            raise MalformedMessageError(f"a signed event holds {len(inner)} messages, exactly one is expected")
        message = inner[0]
    kind, event = message.string(":message-type"), message.string(":event-type")
    if kind != "event" or event != "PayloadPart":
        raise BadPartError(
            f"an event of :message-type {kind!r} and :event-type {event!r} arrived; "
            "the only request event is 'PayloadPart' of :message-type 'event'"
        )
    return PayloadPart(
        message.payload,
        _member(DataType, message, "DataType"),
        _member(CompletionState, message, "CompletionState"),
    )


def _member[E: StrEnum](kind: type[E], message: Message, name: str) -> E | None:
    header = message.headers.get(name)
    if header is None:
        return None
    try:
        return kind(header.value)  # type: ignore[arg-type]  # any other type of header is a ValueError too
    except ValueError:
        allowed = " or ".join(kind)
        raise BadPartError(f"a payload part has {name} {header.value!r}; allowed is {allowed}, or no {name}") from None


HeaderStyle = Literal["always", "type-only", "padded"]


@cache  # the dozen header blocks never change: building one per message costs more than the rest of the encoding
def _part_block(data_type: DataType, state: CompletionState, style: HeaderStyle) -> bytes:
    headers = {
        ":message-type": "event",
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
        "DataType": data_type,
    }
    if style != "type-only":
        headers["CompletionState"] = state
    if style == "padded":
        headers["P"] = "abcdefghijklmnopqrstuvwxyz"
    return encode_headers({name: string_header(value) for name, value in headers.items()})


def encode_part(part: PayloadPart, style: HeaderStyle = "always") -> bytes:
    """Encode a response event. Response events are neither signed nor wrapped.

    ``style`` says which of the optional headers it carries (fact ``unk.response-headers``).
    """
    kind, state = part.data_type or DataType.BINARY, part.completion_state or CompletionState.COMPLETE
    return encode(_part_block(kind, state, style), part.data)


def encode_exception(kind: str, message: str, error_code: str | None = None) -> bytes:
    """Encode the exception event ``ModelStreamError`` or ``InternalStreamFailure``.

    The members are PascalCase: the SDKs drop ``message`` and ``errorCode`` without a word.
    """
    members = {"Message": message} | ({"ErrorCode": error_code} if error_code is not None else {})
    headers = {
        ":message-type": string_header("exception"),
        ":exception-type": string_header(kind),
        ":content-type": string_header("application/json"),
    }
    return encode(headers, json.dumps(members, separators=(",", ":")).encode())
