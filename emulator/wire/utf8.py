"""Whether the text of a container is text, and what of it can be written."""

import codecs

from emulator.wire.frames import Frame, Opcode

__all__ = ["TextCheck", "writable"]


class TextCheck:
    """Notices TEXT messages that are no UTF-8 (RFC 6455, section 8.1); characters may be cut by fragments."""

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None

    def breaks(self, frame: Frame) -> bool:
        """Take the next data frame; True where its message stops being UTF-8 in it."""
        if frame.opcode is not Opcode.CONTINUATION:
            self._decoder = codecs.getincrementaldecoder("utf-8")() if frame.opcode is Opcode.TEXT else None
        if self._decoder is None:
            return False
        try:
            self._decoder.decode(frame.data, final=frame.fin)
        except UnicodeDecodeError:
            self._decoder = None
            return True
        return False


def writable(text: str) -> str:
    """Return the text with an escape for each half of a surrogate pair: JSON can hold one alone, UTF-8 cannot."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
