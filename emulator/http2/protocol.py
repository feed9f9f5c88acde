"""What differs from ``h2`` as it comes; private methods of it are overridden, so its version is pinned narrowly."""

from typing import override

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event
from hyperframe.frame import Frame, GoAwayFrame

__all__ = ["ServerProtocol"]


class ServerProtocol(H2Connection):
    """Lets open streams go on after a GOAWAY(NO_ERROR), as RFC 9113 section 6.8 says.

    JavaScript clients send one right after the response headers; stock ``h2`` then takes the connection for closed.
    """

    @property
    @override
    def open_inbound_streams(self) -> int:
        # h2 takes the whole connection down when a client opens one stream too many; it is refused alone (_begin)
        super().open_inbound_streams  # noqa: B018  # forgets closed streams
        return 0

    @override
    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        if frame.error_code:
            return super()._receive_goaway_frame(frame)
        event = ConnectionTerminated()
        event.error_code = ErrorCodes.NO_ERROR
        event.last_stream_id = frame.last_stream_id
        return [], [event]
