"""The wire log of a session: what the client did and saw, merged with the emulator's frames."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from contract_tests.client import Session
from emulator.trace import SessionTrace, TraceEntry

__all__ = ["wire_log"]

_LONGEST_RUN = 8
_MAX_LINES = 60
_MAX_WIDTH = 170


def wire_log(session: Session, trace: SessionTrace | None) -> list[str]:
    """Return the log, oldest first; long runs of audio are folded.

    Both clocks are the machine's monotonic one; times are in seconds since the client opened the session.
    """
    lines: list[tuple[float, int, str]] = [(note.at, 0, f"client    {note.text}") for note in session.notes]
    if trace is not None:
        shift = trace.began - session.began
        lines += [(at + shift, 1, text) for at, text in _folded(trace.entries)]
    shown = [_cut(f"{at:8.3f}  {text}") for at, _, text in sorted(lines, key=lambda line: line[:2])]
    if len(shown) > _MAX_LINES:
        half = _MAX_LINES // 2
        shown[half:-half] = [f"          … {len(shown) - 2 * half} more lines"]
    return shown


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_WIDTH else f"{line[:_MAX_WIDTH]}…"


def _folded(entries: Sequence[TraceEntry]) -> Iterator[tuple[float, str]]:
    for is_audio, group in groupby(entries, key=_is_audio):
        run = list(group)
        if is_audio and len(run) > _LONGEST_RUN:
            left_out = f"… {len(run) - 4} more of the same kind"
            yield from ((entry.at, _text(entry)) for entry in run[:2])
            yield run[2].at, left_out
            yield from ((entry.at, _text(entry)) for entry in run[-2:])
        else:
            yield from ((entry.at, _text(entry)) for entry in run)


def _text(entry: TraceEntry) -> str:
    """Return the entry without its time, which counts from another moment than the client's."""
    return str(entry).strip().split("  ", 1)[1]


def _is_audio(entry: TraceEntry) -> bool:
    """Tell whether the entry is a binary message on its way from the container to the client."""
    towards_client = (entry.hop, entry.direction) in {("container", "in"), ("client", "out")}
    return towards_client and entry.kind in {"part", "frame"} and "BINARY" in entry.text
