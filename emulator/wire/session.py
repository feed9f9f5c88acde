"""One session: one client stream joined to one WebSocket, as a state machine without I/O.

Every method takes an event and returns the actions that it asks for, in order. After :attr:`Session.ended` is true
nothing is sent to either side any more; what still arrives is dropped.
"""

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass

from emulator import facts
from emulator.switches import Switches
from emulator.wire.eventstream import Decoder, Message
from emulator.wire.exceptions import BadPartError, EventStreamError, MessageTooLargeError
from emulator.wire.frames import Frame, FrameMapper, Opcode, PartMapper
from emulator.wire.parts import DataType, EndOfInput, PayloadPart, read_request_event
from emulator.wire.sigv4 import EventSignatureError

__all__ = ["Action", "CloseContainer", "Disconnect", "EndOutput", "Fail", "Reset", "SendFrame", "SendPart", "Session"]


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Send a frame to the container."""

    frame: Frame
    part: PayloadPart


@dataclass(frozen=True, slots=True)
class SendPart:
    """Send a payload part to the client."""

    part: PayloadPart
    frame: Frame


@dataclass(frozen=True, slots=True)
class Fail:
    """Send an exception event to the client; :class:`EndOutput` always follows."""

    kind: str
    message: str
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class EndOutput:
    """End the response stream in order (END_STREAM, never RST_STREAM: fact ``stream.silent-end``)."""


@dataclass(frozen=True, slots=True)
class Reset:
    """End the response stream with RST_STREAM, where a switch asks for it."""


@dataclass(frozen=True, slots=True)
class CloseContainer:
    """Start the closing handshake with the container."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Drop the container's connection without a Close frame, where a switch asks for it."""


Action = SendFrame | SendPart | Fail | EndOutput | Reset | CloseContainer | Disconnect

MODEL_STREAM_ERROR = "ModelStreamError"
INTERNAL_STREAM_FAILURE = "InternalStreamFailure"
_KINDS = {"model-error": MODEL_STREAM_ERROR, "internal-failure": INTERNAL_STREAM_FAILURE}


def _codes(fact_id: str) -> frozenset[int]:
    value = facts.get(fact_id).value
    return frozenset(value if isinstance(value, list) else [value])


_DONE_CODES = _codes("close.container-1000") | _codes("close.container-no-code")
_NO_CLOSE_FRAME = 1006
_GOING_AWAY = 1001


class Session:
    """The state machine of one session.

    ``verify`` checks the signature of every message of the request stream and raises
    :exc:`~emulator.wire.sigv4.EventSignatureError`; None where signatures are not looked at. ``alter`` changes every
    part of the client before it is mapped to a frame (a fault on demand).
    """

    def __init__(
        self,
        switches: Switches | None = None,
        verify: Callable[[Message], None] | None = None,
        alter: Callable[[PayloadPart], PayloadPart] | None = None,
    ) -> None:
        self._switches = switches or Switches()
        self._verify = verify
        self._alter = alter
        self._decoder = Decoder(max_payload=self._switches.max_part_bytes + _WRAPPER)
        self._to_container = FrameMapper()
        self._to_client = PartMapper()
        self._run_type: DataType | None = None
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._ahead: tuple[int | None, str] | None = None
        self.input_ended = False
        """Whether the client has ended its side; the session may still go on."""
        self.ended = False
        """Whether the session is over."""

    # --- the client's side ---

    def client_data(self, data: bytes) -> list[Action]:
        """Take bytes of the request stream."""
        if self.ended or self.input_ended:
            return []
        actions: list[Action] = []
        try:
            for message in self._decoder.feed(data):
                actions += self._message(message)
                if self.ended or self.input_ended:
                    break
        except (EventStreamError, EventSignatureError) as error:
            actions += self._fail(INTERNAL_STREAM_FAILURE, str(error), None, self._switches.close_code_out)
        return actions

    def client_end(self) -> list[Action]:
        """The client ended its side of the HTTP/2 stream."""
        if self.ended or self.input_ended:
            return []
        try:
            self._decoder.finish()
        except EventStreamError as error:
            return self._fail(INTERNAL_STREAM_FAILURE, str(error), None, self._switches.close_code_out)
        return self._end_of_input()

    def client_gone(self) -> list[CloseContainer | Disconnect]:
        """The client reset its stream or lost its connection: nobody is left to talk to."""
        if self.ended:
            return []
        self.ended = True
        return [Disconnect() if self._switches.client_drop == "disconnect" else self._close()]

    def grace_over(self) -> list[Action]:
        """The time is over that the container had to answer after the end of the input."""
        if self.ended:
            return []
        if self._ahead is not None:
            code, text = self._ahead
            return self.container_lost(text) if code is None else self.container_closed(code, text)
        self.ended = True
        return [self._close(), EndOutput()]

    def _message(self, message: Message) -> list[Action]:
        if self._verify is not None:
            self._verify(message)
        try:
            event = read_request_event(message)
            if isinstance(event, EndOfInput):
                return self._end_of_input()
            return self._part(event if self._alter is None else self._alter(event))
        except BadPartError as error:
            return self._bad_part(error)

    def _part(self, part: PayloadPart) -> list[Action]:
        switches = self._switches
        if len(part.data) > switches.max_part_bytes:
            raise MessageTooLargeError("a payload part", len(part.data), switches.max_part_bytes)
        if self._to_container.open:
            if switches.fragment_type_change == "error" and part.data_type not in (None, self._run_type):
                raise BadPartError(f"DataType changes from {self._run_type} to {part.data_type} inside a PARTIAL run")
        else:
            self._run_type = part.data_type
        if not part.data and switches.empty_part == "drop":
            return []
        frame = self._to_container.frame(part)
        if switches.bad_utf8 == "error" and self._run_type is DataType.UTF8:
            try:
                self._utf8.decode(part.data, final=frame.fin)
            except UnicodeDecodeError as error:
                raise BadPartError(f"a part has DataType UTF8, but its bytes are no UTF-8: {error}") from error
        return [SendFrame(frame, part)]

    def _bad_part(self, error: BadPartError) -> list[Action]:
        if self._switches.bad_part == "ignore":
            return []
        kind = _KINDS[self._switches.bad_part]
        code = "InvalidPayloadPart" if kind == MODEL_STREAM_ERROR else None
        return self._fail(kind, str(error), code, self._switches.close_code_out)

    def _end_of_input(self) -> list[Action]:
        self.input_ended = True
        if self._to_container.open and self._switches.open_fragment == "error":
            text = "The input ended inside a run of PARTIAL parts: the COMPLETE one is missing."
            return self._fail(MODEL_STREAM_ERROR, text, "InvalidPayloadPart", self._switches.close_code_out)
        if self._switches.client_end == "half-close" or self._switches.client_end_grace:
            return []
        return self.grace_over()

    # --- the container's side ---

    def container_frame(self, frame: Frame) -> list[Action]:
        """Take a data frame of the container."""
        if self.ended:
            return []
        if self._switches.text_error_frame == "convert" and frame.opcode is Opcode.TEXT and frame.fin:
            members = _text_error(frame.data)
            if members is not None:
                return self._fail(MODEL_STREAM_ERROR, *members, self._switches.close_code_out)
        return [SendPart(self._to_client.part(frame), frame)]

    def container_end_seen(self, code: int | None, text: str) -> None:
        """The container has ended the session (code None: without a Close frame), but frames before that still wait.

        A client that ends its input now must not take the end for success.
        """
        self._ahead = code, text

    def container_closed(self, code: int, reason: str) -> list[Action]:
        """The container sent a Close frame (1005: without a code); the answer to it is the WebSocket layer's job."""
        if self.ended:
            return []
        unfinished = self._to_client.open
        if code in _DONE_CODES and self._switches.close_1000 == "clean" and not unfinished:
            self.ended = True
            return [EndOutput()]
        if self._switches.close_error_format == "generic":
            return self._fail(MODEL_STREAM_ERROR, "Model container closed the connection.", None)
        message = reason or f"The container closed the WebSocket with code {code}."
        if unfinished:
            message = f"{message} It left a fragmented message unfinished."
        return self._fail(MODEL_STREAM_ERROR, message, str(code))

    def container_lost(self, text: str) -> list[Action]:
        """The container's connection ended without a valid Close frame; ``text`` tells the client."""
        if self.ended:
            return []
        if self._switches.crash_error == "clean":
            self.ended = True
            return [EndOutput()]
        kind = _KINDS[self._switches.crash_error]
        return self._fail(kind, text, str(_NO_CLOSE_FRAME) if kind == MODEL_STREAM_ERROR else None)

    def container_silent(self, misses: int) -> list[Action]:
        """The container left the last pings unanswered."""
        if self.ended:
            return []
        if self._switches.ping_miss_end == "clean":
            return self.grace_over()
        text = (
            f"The container answered none of the last {misses} pings, so the connection was closed. "
            "Its event loop is blocked, or nothing reads its WebSocket."
        )
        return self._fail(MODEL_STREAM_ERROR, text, "PingTimeout", self._switches.close_code_out)

    def metering_lost(self, what: str) -> list[Action]:
        """A metering socket that the container requires is gone (facts ``meter.fail``, ``unk.meter-drop``)."""
        if self.ended:
            return []
        if self._switches.meter_drop == "clean":
            return self.grace_over()
        return self._fail(
            MODEL_STREAM_ERROR,
            f"The metering socket, which the container requires, is lost: {what}.",
            "MeteringStreamLost",
            self._switches.close_code_out,
        )

    # --- the service itself ---

    def limit_exceeded(self, message: str) -> list[Action]:
        """The session lasted too long, or was idle for too long."""
        if self.ended:
            return []
        match self._switches.max_duration_end:
            case "clean":
                return self.grace_over()
            case "reset":
                self.ended = True
                return [self._close(), Reset()]
            case end:
                code = "SessionLimit" if end == "model-error" else None
                return self._fail(_KINDS[end], message, code, self._switches.close_code_out)

    def service_failed(self, message: str) -> list[Action]:
        """The emulator itself cannot go on (a fault of its own, or its shutdown)."""
        if self.ended:
            return []
        return self._fail(INTERNAL_STREAM_FAILURE, message, None, _GOING_AWAY)

    def abandon(self) -> None:
        """Be over without an action: a fault on demand has ended both sides."""
        self.ended = True

    def _close(self) -> CloseContainer:
        return CloseContainer(self._switches.close_code_out)

    def _fail(self, kind: str, message: str, error_code: str | None, close: int | None = None) -> list[Action]:
        self.ended = True
        closing = [CloseContainer(close)] if close is not None else []
        return [*closing, Fail(kind, message, error_code), EndOutput()]


# what signing and inner headers add to a part's own bytes, with room for a large padding
_WRAPPER = 128 * 1024 + 1024


def _text_error(data: bytes) -> tuple[str, str | None] | None:
    """Return message and code of a text frame shaped as an error of the model (fact ``unk.text-error``)."""
    try:
        body = json.loads(data)
        error = body["ModelStreamError"]
        code = error.get("ErrorCode")
        return str(error.get("Message", "")), None if code is None else str(code)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
