"""Frames to the container that no client and no TCP proxy could bring about: split, merged, never complete."""

from random import Random

from emulator.wire.faults import Faults
from emulator.wire.frames import Frame, Opcode

__all__ = ["FrameFaults"]


class FrameFaults:
    """Changes the frames of one session. What leaves is a legal sequence of frames, whatever is combined."""

    def __init__(self, faults: Faults, random: Random) -> None:
        self._faults = faults
        self._random = random
        self._parts = 0
        self._texts = 0
        self._held: tuple[int, Frame] | None = None
        self._open = False
        """Whether the container waits for a continuation."""
        self._endless = False
        """Whether FIN is withheld for ever."""

    def change(self, frame: Frame) -> tuple[list[Frame], list[str]]:
        """Return what leaves in the place of the next part's frame, and what was done to it; nothing while it waits."""
        faults, notes = self._faults, list[str]()
        self._parts += 1
        first = last = self._parts
        run_ends = frame.fin and frame.opcode is Opcode.CONTINUATION
        frame = self._broken_text(frame, notes)
        if self._held is not None:
            (first, held), self._held = self._held, None
            notes.append(
                f"merge={first}: parts {first} and {last} ({len(held.data)} + {len(frame.data)} B) are one frame"
            )
            frame = Frame(held.opcode, held.data + frame.data, frame.fin)
            run_ends = run_ends or (frame.fin and frame.opcode is Opcode.CONTINUATION)
        elif last == faults.merge:
            self._held = last, frame
            notes.append(f"merge={last}: this part waits for the next")
            return [], notes
        frames = [frame]
        if faults.split is not None and first <= faults.split <= last:
            frames = self._split(frame)
            sizes = " + ".join(str(len(half.data)) for half in frames)
            notes.append(f"split={faults.split}: part {last} is two frames ({sizes} B)")
        frames = self._without_end(frames, range(first, last + 1), run_ends, notes)
        if faults.empty_frame is not None and any(n % faults.empty_frame == 0 for n in range(first, last + 1)):
            notes.append(f"empty_frame={faults.empty_frame}: an empty frame comes before part {first}")
            empty = Frame(Opcode.CONTINUATION, b"", fin=False) if self._open else Frame(frames[0].opcode, b"")
            frames.insert(0, empty)
        self._open = not frames[-1].fin
        return frames, notes

    def rest(self) -> list[Frame]:
        """Return the frame that still waits for a next part, when none comes any more."""
        if self._held is None:
            return []
        (_, frame), self._held = self._held, None
        return [Frame(Opcode.CONTINUATION, frame.data, fin=False) if self._endless else frame]

    def _broken_text(self, frame: Frame, notes: list[str]) -> Frame:
        if frame.opcode is not Opcode.TEXT:
            return frame
        self._texts += 1
        if self._texts != self._faults.invalid_utf8:
            return frame
        at = self._random.randint(0, len(frame.data))
        notes.append(f"invalid_utf8={self._texts}: byte {at} of this TEXT frame is an inserted ff")
        return Frame(frame.opcode, frame.data[:at] + b"\xff" + frame.data[at:], frame.fin)

    def _split(self, frame: Frame) -> list[Frame]:
        data = frame.data
        # not inside a character: invalid UTF-8 is a fault of its own
        places = (
            [at for at in range(1, len(data)) if data[at] & 0xC0 != 0x80] if _is_utf8(data) else range(1, len(data))
        )
        cut = self._random.choice(places) if places else len(data)
        if frame.fin and frame.opcode is not Opcode.CONTINUATION:  # a whole message becomes two
            return [Frame(frame.opcode, data[:cut]), Frame(frame.opcode, data[cut:])]
        return [Frame(frame.opcode, data[:cut], fin=False), Frame(Opcode.CONTINUATION, data[cut:], frame.fin)]

    def _without_end(self, frames: list[Frame], parts: range, run_ends: bool, notes: list[str]) -> list[Frame]:
        wanted = self._faults.never_complete
        if self._endless:
            notes.append(f"never_complete={wanted}: this frame goes into the message that never ends")
            frames = [Frame(Opcode.CONTINUATION, frame.data, fin=False) for frame in frames]
        elif (run_ends and wanted == "run") or wanted in parts:
            self._endless = True
            notes.append(f"never_complete={wanted}: FIN is withheld from here on")
            *before, last = frames
            frames = [*before, Frame(last.opcode, last.data, fin=False)]
        return frames


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
