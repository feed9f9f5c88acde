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

    Both clocks are the machine's monotonic one; times are given in seconds since the client opened the session.
    """
    lines: list[tuple[float, int, str]] = [
        (note.at, 0, f"{note.at:8.3f}  client    {note.text}") for note in session.notes
    ]
    if trace is not None:
        shift = trace.began - session.began
        lines += [(at + shift, 1, text) for at, text in _folded(trace.entries)]
    shown = [text if len(text) <= _MAX_WIDTH else f"{text[:_MAX_WIDTH]}…" for _, _, text in sorted(lines)]
    if len(shown) > _MAX_LINES:
        half = _MAX_LINES // 2
        shown[half:-half] = [f"          … {len(shown) - 2 * half} more lines"]
    return shown


def _folded(entries: Sequence[TraceEntry]) -> Iterator[tuple[float, str]]:
    for is_audio, group in groupby(entries, key=_is_audio):
        run = list(group)
        if is_audio and len(run) > _LONGEST_RUN:
            head, tail = run[:2], run[-2:]
            yield from ((entry.at, str(entry)) for entry in head)
            yield head[-1].at, f"          … {len(run) - 4} more entries of the same kind"
            yield from ((entry.at, str(entry)) for entry in tail)
        else:
            yield from ((entry.at, str(entry)) for entry in run)


def _is_audio(entry: TraceEntry) -> bool:
    """Tell whether the entry is a binary message on its way from the container to the client."""
    towards_client = (entry.hop, entry.direction) in {("container", "in"), ("client", "out")}
    return towards_client and entry.kind in {"part", "frame"} and "BINARY" in entry.text
