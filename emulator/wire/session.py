"""One session: one client stream joined to one WebSocket, as a state machine without I/O.

Every method takes an event and returns the actions that it asks for, in order. After :attr:`Session.ended` is true
nothing is sent to either side any more; what still arrives is dropped.
"""

from collections.abc import Callable
from dataclasses import dataclass

from emulator import facts
from emulator.wire.eventstream import Decoder, Message
from emulator.wire.exceptions import BadPartError, EventStreamError
from emulator.wire.frames import Frame, FrameMapper, PartMapper
from emulator.wire.parts import EndOfInput, PayloadPart, read_request_event
from emulator.wire.sigv4 import EventSignatureError

__all__ = ["Action", "CloseContainer", "EndOutput", "Fail", "SendFrame", "SendPart", "Session"]


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
class CloseContainer:
    """Start the closing handshake with the container."""

    code: int
    reason: str = ""


Action = SendFrame | SendPart | Fail | EndOutput | CloseContainer

_MODEL = "ModelStreamError"
_SERVICE = "InternalStreamFailure"


def _codes(fact_id: str) -> frozenset[int]:
    value = facts.get(fact_id).value
    return frozenset(value if isinstance(value, list) else [value])


CLEAN_CODES = _codes("close.container-1000") | _codes("close.container-no-code")
_NO_CLOSE_FRAME = 1006


class Session:
    """The state machine of one session.

    ``verify`` checks the signature of every message of the request stream and raises
    :exc:`~emulator.wire.sigv4.EventSignatureError`; None where signatures are not looked at.
    """

    def __init__(self, verify: Callable[[Message], None] | None = None) -> None:
        self._verify = verify
        self._decoder = Decoder()
        self._to_container = FrameMapper()
        self._to_client = PartMapper()
        self._input_ended = False
        self.ended = False
        """Whether the output is over."""

    # --- the client's side ---

    def client_data(self, data: bytes) -> list[Action]:
        """Take bytes of the request stream."""
        if self.ended or self._input_ended:
            return []
        actions: list[Action] = []
        try:
            for message in self._decoder.feed(data):
                if self._verify is not None:
                    self._verify(message)
                event = read_request_event(message)
                if isinstance(event, EndOfInput):
                    return actions + self._end_of_input()
                actions.append(SendFrame(self._to_container.frame(event), event))
        except BadPartError as error:
            return actions + self._fail(_MODEL, str(error), "InvalidPayloadPart", facts.integer("close.client-input"))
        except (EventStreamError, EventSignatureError) as error:
            return actions + self._fail(_SERVICE, str(error), None, facts.integer("close.client-input"))
        return actions

    def client_end(self) -> list[Action]:
        """The client ended its side of the HTTP/2 stream."""
        if self.ended or self._input_ended:
            return []
        try:
            self._decoder.finish()
        except EventStreamError as error:
            return self._fail(_SERVICE, str(error), None, facts.integer("close.client-input"))
        return self._end_of_input()

    def client_gone(self) -> list[CloseContainer]:
        """The client reset its stream or lost its connection: nobody is left to talk to."""
        if self.ended:
            return []
        self.ended = True
        return [CloseContainer(facts.integer("close.client-drop"))]

    def _end_of_input(self) -> list[Action]:
        # no half-close: the session ends (fact close.client-input)
        self._input_ended = self.ended = True
        return [CloseContainer(facts.integer("close.client-input")), EndOutput()]

    # --- the container's side ---

    def container_frame(self, frame: Frame) -> list[Action]:
        """Take a data frame of the container."""
        if self.ended:
            return []
        return [SendPart(self._to_client.part(frame), frame)]

    def container_closed(self, code: int, reason: str) -> list[Action]:
        """The container sent a Close frame (1005: without a code); the answer to it is the WebSocket layer's job."""
        if self.ended:
            return []
        if code in CLEAN_CODES and not self._to_client.open:
            self.ended = True
            return [EndOutput()]
        message = reason or f"The container closed the WebSocket with code {code}."
        if self._to_client.open:
            message = f"{message} It left a fragmented message unfinished."
        return self._fail(_MODEL, message, str(code))

    def container_lost(self, what: str) -> list[Action]:
        """The container's connection ended without a Close frame; ``what`` says what was seen of it."""
        if self.ended:
            return []
        return self._fail(
            _MODEL,
            f"The container dropped the connection without a Close frame ({what}). "
            "Usually its handler raised an exception: look at the container's log.",
            str(_NO_CLOSE_FRAME),
        )

    def container_silent(self, misses: int) -> list[Action]:
        """The container left the last pings unanswered."""
        if self.ended:
            return []
        return self._fail(
            _MODEL,
            f"The container answered none of the last {misses} pings, so the connection was closed. "
            "Its event loop is blocked, or nothing reads its WebSocket.",
            "PingTimeout",
            facts.integer("close.client-input"),
        )

    def service_failed(self, message: str) -> list[Action]:
        """The emulator itself cannot go on (a fault of its own, or its shutdown)."""
        if self.ended:
            return []
        return self._fail(_SERVICE, message, None, 1001)

    def _fail(self, kind: str, message: str, error_code: str | None, close: int | None = None) -> list[Action]:
        self.ended = True
        closing = [CloseContainer(close)] if close is not None else []
        return [*closing, Fail(kind, message, error_code), EndOutput()]
