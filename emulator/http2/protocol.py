"""What differs from ``h2`` as it comes; private methods of it are overridden, so its version is pinned narrowly."""

import logging
from typing import override

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, StreamReset
from h2.exceptions import DenialOfServiceError, InvalidBodyLengthError, ProtocolError
from hpack.exceptions import HPACKError
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame

__all__ = ["ServerProtocol"]

_log = logging.getLogger("emulator.http2")
_OF_A_STREAM = (ProtocolError, InvalidBodyLengthError)


class ServerProtocol(H2Connection):
    """Lets open streams go on where ``h2`` would end the connection although RFC 9113 asks for less.

    After a GOAWAY(NO_ERROR), section 6.8: JavaScript clients send one right after the response headers. After a
    malformed request, section 8.1.1. After a stream too many, section 5.1.2.
    """

    _greeted = False

    @property
    @override
    def open_inbound_streams(self) -> int:
        # h2 takes the whole connection down when a client opens one stream too many; it is refused alone, by whoever
        # owns this
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

    @override
    def _receive_frame(self, frame: Frame) -> list[Event]:
        if not self._greeted and (not isinstance(frame, SettingsFrame) or "ACK" in frame.flags):
            raise ProtocolError("The preface is not followed by SETTINGS")
        self._greeted = True
        try:
            return super()._receive_frame(frame)
        except ProtocolError as error:
            if isinstance(error.__cause__, HPACKError) and not isinstance(error, DenialOfServiceError):
                error.error_code = ErrorCodes.COMPRESSION_ERROR
                raise
            if not self._is_malformed(frame, error):
                raise
            return self._refuse(frame, error)

    def _is_malformed(self, frame: Frame, error: ProtocolError) -> bool:
        # subclasses are errors of the connection: flow control, header lists too long, wrong stream numbers
        of_a_stream = isinstance(frame, HeadersFrame | DataFrame) and type(error) in _OF_A_STREAM
        return of_a_stream and frame.stream_id in self.streams

    def _refuse(self, frame: Frame, error: ProtocolError) -> list[Event]:
        _log.warning("stream %d was reset, its request is malformed: %s", frame.stream_id, error)
        self.reset_stream(frame.stream_id, error.error_code)
        if isinstance(frame, DataFrame):  # nobody else gives its window back
            self.acknowledge_received_data(frame.flow_controlled_length, frame.stream_id)
        return [StreamReset(stream_id=frame.stream_id, error_code=error.error_code, remote_reset=False)]
