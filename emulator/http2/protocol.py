"""What differs from ``h2`` as it comes; private methods of it are overridden, so its version is pinned narrowly."""

import logging
from typing import override

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, StreamReset
from h2.exceptions import DenialOfServiceError, FrameTooLargeError, InvalidBodyLengthError, ProtocolError
from h2.frame_buffer import FrameBuffer
from hpack.exceptions import HPACKError
from hyperframe.exceptions import InvalidDataError
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, SettingsFrame

__all__ = ["ServerProtocol"]

_log = logging.getLogger("emulator.http2")
_HEAD = 9
_OF_A_STREAM = (ProtocolError, InvalidBodyLengthError)


class _Frames(FrameBuffer):
    """Refuses a frame that is too large by its head: ``h2`` keeps up to 16 MiB of it until it says so."""

    @override
    def __next__(self) -> Frame:
        if len(self._data) >= _HEAD and (size := int.from_bytes(self._data[:3])) > self.max_frame_size:
            raise FrameTooLargeError(f"A frame of {size} bytes, {self.max_frame_size} are allowed")
        try:
            return super().__next__()
        except ProtocolError as error:
            if isinstance(error.__cause__, InvalidDataError) and "SETTINGS ack" in str(error.__cause__):
                error.error_code = ErrorCodes.FRAME_SIZE_ERROR  # section 6.5
            raise


class ServerProtocol(H2Connection):
    """Lets open streams go on where ``h2`` would end the connection although RFC 9113 asks for less.

    After a GOAWAY(NO_ERROR), section 6.8: JavaScript clients send one right after the response headers. After a
    malformed request, section 8.1.1. After a stream too many, section 5.1.2.
    """

    def __init__(self) -> None:
        super().__init__(H2Configuration(client_side=False, header_encoding=None))
        self.incoming_buffer = _Frames(server=True)
        self._greeted = False

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
