"""WebSocket frames as they pass: only their lengths are looked at (RFC 6455, section 5.2)."""

import struct

__all__ = ["FrameMeter", "FrameTooLargeError", "close_frame"]

_MASKED, _LENGTH = 0x80, 0x7F


class FrameTooLargeError(Exception):
    """Raised on a frame over the limit; ``passed`` are the bytes before it. Sizes in bytes."""

    def __init__(self, size: int, limit: int, passed: bytes) -> None:
        super().__init__(size, limit)
        self.size, self.limit, self.passed = size, limit, passed

    def __str__(self) -> str:
        return f"a WebSocket frame of {self.size} bytes; AgentCore takes {self.limit} in one frame"


class FrameMeter:
    """Takes the bytes of one direction in any fragmentation, gives those that may pass on.

    The head of a frame is held back until it is whole, so that nothing of a frame passes that must not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = b""
        self._left = 0

    @property
    def between_frames(self) -> bool:
        """Whether what passed so far ends with a whole frame."""
        return not self._left

    def take(self, data: bytes) -> bytes:
        """Return the bytes that may pass.

        Raises:
            FrameTooLargeError: a frame announces more than the limit.
        """
        passed = bytearray()
        at = 0
        while at < len(data):
            if self._left:
                step = min(self._left, len(data) - at)
                passed += data[at : at + step]
                self._left -= step
                at += step
                continue
            self._head += data[at : at + 1]
            at += 1
            if len(self._head) < 2 or len(self._head) < (size := _head_size(self._head)):
                continue
            length = _length(self._head)
            if length > self._limit:
                raise FrameTooLargeError(length, self._limit, bytes(passed))
            passed += self._head[:size]
            self._head, self._left = b"", length
        return bytes(passed)


def close_frame(code: int, reason: str) -> bytes:
    """Return an unmasked Close frame, as a server sends it; the reason is cut to what fits."""
    payload = struct.pack("!H", code) + reason.encode()[:123]
    return bytes((0x88, len(payload))) + payload


def _head_size(head: bytes) -> int:
    extended = {126: 2, 127: 8}.get(head[1] & _LENGTH, 0)
    return 2 + extended + (4 if head[1] & _MASKED else 0)


def _length(head: bytes) -> int:
    short = head[1] & _LENGTH
    if short == 126:
        return int.from_bytes(head[2:4])
    return int.from_bytes(head[2:10]) if short == 127 else short
