"""WebSocket frames, and how payload parts map to them and back (facts ``frame.*`` and ``frag.*``).

One part is exactly one frame, in both directions; a run of PARTIAL parts closed by a COMPLETE one is one fragmented
message. Bytes are never looked at.
"""

from dataclasses import dataclass
from enum import IntEnum

from emulator.wire.parts import CompletionState, DataType, PayloadPart

__all__ = ["PREVIEWED", "Frame", "FrameMapper", "Opcode", "PartMapper", "preview"]

PREVIEWED = 96
"""How many bytes of a payload are shown at most."""


class Opcode(IntEnum):
    """The opcodes of data frames (RFC 6455, section 5.2)."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2


@dataclass(frozen=True, slots=True)
class Frame:
    """One WebSocket data frame."""

    opcode: Opcode
    data: bytes
    fin: bool = True


def preview(data: bytes, size: int | None = None) -> str:
    """Show the beginning of a payload: quoted text where it is printable UTF-8, else hexadecimal.

    ``size`` is that of the whole payload, where ``data`` is only the first ``PREVIEWED`` bytes of it.
    """
    size = len(data) if size is None else size
    head = data[:PREVIEWED]
    more = "…" if size > PREVIEWED else ""
    try:
        shown = head.decode()
    except UnicodeDecodeError as error:
        # a character cut by our own limit is no reason to fall back to hexadecimal
        shown = head[: error.start].decode() if more and error.start > len(head) - 4 else ""
    if shown and shown.isprintable():
        return repr(shown) + more
    return (head[:16].hex(" ") + ("…" if size > 16 else "")) if data else "''"


class FrameMapper:
    """Client to container."""

    def __init__(self) -> None:
        self.open = False
        """Whether a run of PARTIAL parts waits for its COMPLETE one."""

    def frame(self, part: PayloadPart) -> Frame:
        """Return the frame that carries this part."""
        fin = part.completion_state is not CompletionState.PARTIAL
        if self.open:
            opcode = Opcode.CONTINUATION  # the run's first DataType holds (fact frag.type-change)
        else:
            opcode = Opcode.TEXT if part.data_type is DataType.UTF8 else Opcode.BINARY
        self.open = not fin
        return Frame(opcode, part.data, fin)


class PartMapper:
    """Container to client."""

    def __init__(self) -> None:
        self._run: DataType | None = None

    @property
    def open(self) -> bool:
        """Whether a fragmented message of the container is not finished yet."""
        return self._run is not None

    def part(self, frame: Frame) -> PayloadPart:
        """Return the part that carries this frame; continuations keep the type of their message."""
        if frame.opcode is Opcode.CONTINUATION and self._run is not None:
            kind = self._run
        else:
            kind = DataType.UTF8 if frame.opcode is Opcode.TEXT else DataType.BINARY
        self._run = None if frame.fin else kind
        return PayloadPart(frame.data, kind, CompletionState.COMPLETE if frame.fin else CompletionState.PARTIAL)
