"""What can come from a container's WebSocket."""

from dataclasses import dataclass

from websockets.frames import EXTERNAL_CLOSE_CODES

from emulator.wire.frames import Frame

__all__ = ["NO_CLOSE_FRAME", "Closed", "Event", "Lost", "Ping", "Pong"]

NO_CLOSE_FRAME = 1006


@dataclass(frozen=True, slots=True)
class Closed:
    """The container sent a Close frame. ``code`` is 1005 where the frame held none."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection ended without a Close frame, or broke the protocol. ``code`` as the WebSocket layer sees it."""

    code: int
    what: str
    close: tuple[int, str] | None = None
    """Code and reason of a Close frame that must not be sent like that."""

    @property
    def text(self) -> str:
        """What the client is told."""
        if self.code != NO_CLOSE_FRAME:
            return f"The container broke the WebSocket protocol: {self.what}."
        return (
            f"The container dropped the connection without a Close frame ({self.what}). "
            "Usually its handler raised an exception: look at the container's log."
        )

    @classmethod
    def by_close(cls, code: int, data: bytes) -> "Lost":
        """Return the end by a Close frame whose payload ``data`` must not be sent like that."""
        close = int.from_bytes(data[:2]), data[2:].decode("utf-8", "replace")
        return cls(code, _trouble(data), close)


@dataclass(frozen=True, slots=True)
class Pong:
    """The container answered a Ping."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Ping:
    """The container sent a Ping; it has been answered already (fact ``ping.answer``)."""

    payload: bytes


Event = Frame | Closed | Lost | Ping | Pong


def _trouble(data: bytes) -> str:
    code = int.from_bytes(data[:2])
    if len(data) == 1:
        return "its Close frame has a payload of one byte, which is no code"
    if not 3000 <= code < 5000 and code not in EXTERNAL_CLOSE_CODES:
        return f"its Close frame has the code {code}, which must not be sent (RFC 6455, section 7.4)"
    return f"its Close frame has the code {code} and a reason that is no UTF-8"
