"""What can be wrong with what a client sends.

* :exc:`WireError`
    * :exc:`EventStreamError`
        * :exc:`ChecksumMismatchError`
        * :exc:`MalformedMessageError`
        * :exc:`MessageTooLargeError`
        * :exc:`TruncatedMessageError`
    * :exc:`BadPartError`
    * :exc:`RequestError`
"""

from dataclasses import dataclass, field

__all__ = [
    "BadPartError",
    "ChecksumMismatchError",
    "EventStreamError",
    "MalformedMessageError",
    "MessageTooLargeError",
    "RequestError",
    "TruncatedMessageError",
    "WireError",
]


class WireError(Exception):
    """Base class of everything in this module."""


class EventStreamError(WireError):
    """Raised when bytes cannot be read as an event stream. The stream cannot be picked up again after it."""


class ChecksumMismatchError(EventStreamError):
    """Raised when a CRC-32 does not fit. ``which`` is ``prelude`` or ``message``."""

    def __init__(self, which: str, expected: int, computed: int) -> None:
        super().__init__(which, expected, computed)
        self.which, self.expected, self.computed = which, expected, computed

    def __str__(self) -> str:
        return (
            f"the {self.which} CRC-32 of an event stream message is {self.expected:08x}, its bytes give "
            f"{self.computed:08x}: the message was damaged on its way or encoded wrongly"
        )


class MalformedMessageError(EventStreamError):
    """Raised when lengths or headers contradict each other."""


class MessageTooLargeError(EventStreamError):
    """Raised on a message over the limits. Sizes in bytes."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(what, size, limit)
        self.what, self.size, self.limit = what, size, limit

    def __str__(self) -> str:
        return (
            f"an event stream message announces {self.what} of {self.size} bytes, at most {self.limit} are accepted: "
            "send smaller payload parts"
        )


class TruncatedMessageError(EventStreamError):
    """Raised when the input ends inside a message. Sizes in bytes."""

    def __init__(self, got: int, wanted: int | None) -> None:
        super().__init__(got, wanted)
        self.got, self.wanted = got, wanted

    def __str__(self) -> str:
        of = f" of {self.wanted}" if self.wanted is not None else ""
        return f"the input ended inside an event stream message, after {self.got}{of} bytes"


class BadPartError(WireError):
    """Raised on a well-formed event that is not a payload part the service knows. The stream could go on after it."""


@dataclass
class RequestError(WireError):
    """Raised before the stream begins; becomes an HTTP error response.

    ``type`` is the error's name as in ``x-amzn-errortype``; ``members`` are further JSON members (PascalCase). With an
    empty ``message`` the body is ``{"message":null}``, as AWS throttles (fact ``err.throttle``).
    """

    status: int
    type: str
    message: str
    members: dict[str, str | int] = field(default_factory=dict)

    def __str__(self) -> str:
        detail = self.members.get("OriginalMessage")
        return f"HTTP {self.status} {self.type}: {self.message}" + (f" ({detail})" if detail else "")
