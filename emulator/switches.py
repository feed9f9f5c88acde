"""What can be switched, with the defaults of the facts table."""

from dataclasses import dataclass
from typing import Literal

from emulator import facts

__all__ = ["SignatureMode", "Switches"]

SignatureMode = Literal["enforce", "log", "off"]


@dataclass(frozen=True, slots=True)
class Switches:
    """How the emulator behaves where AWS documents a number or nobody knows one. Times in seconds."""

    ping_interval: float = facts.seconds("ping.interval")
    """Between two Pings to the container. A test run shortens it."""
    ping_misses: int = facts.integer("ping.misses")
    """Pings without a Pong after which the connection is closed."""
    accept_timeout: float = 5.0
    """Until the container must have accepted the WebSocket; then HTTP 424. More than ``accept_limit`` is noted in the
    trace only, since a laptop under load is slower than a SageMaker instance."""
    accept_limit: float = facts.seconds("ctr.accept-250ms")
    """The documented limit for accepting the connection."""
    close_timeout: float = 10.0
    """Until the container must have answered a Close frame and ended the TCP connection; then it is cut."""
    max_frame: int = facts.integer("event.max-payload")
    """Bytes of the largest message taken from a container."""
    signatures: SignatureMode = "enforce"
    """What to do with SigV4: refuse a request or event that is not signed with the emulator's own credentials, only
    note it in the trace, or not look at it."""
    quick_ack: bool = True
    """Acknowledge every read at once. The CRT client leaves Nagle's algorithm on, so that a delayed ACK costs 40 ms
    per message larger than one segment."""
    window: int = 1024 * 1024
    """Bytes of the HTTP/2 window of one stream."""
    max_streams: int = 100
    """Streams that one connection may have open."""
