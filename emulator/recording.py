"""Recorded sessions: newline-delimited JSON, one file a session, readable, and replayable against another container.

The first line describes the session, every other one is an entry of its wire log. Credentials are in neither: the
log holds no header of a request. Files of several sessions can be joined into one.
"""

import base64
import json
import logging
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from emulator.trace import Direction, Hop, Kind, SessionTrace, TraceEntry
from emulator.wire.frames import Frame, Opcode

__all__ = ["Recorder", "Recording", "RecordingError", "lines_of"]

_log = logging.getLogger("emulator.recording")

FORMAT = "sagemaker-bidi-session/1"
_MAX_BYTES = 256 * 1024 * 1024
_FULL = {"kind": "note", "text": f"nothing more is recorded: the file has {_MAX_BYTES >> 20} MiB", "dropped": True}
_FRAME_TYPES = [f"{opcode.name}{more}" for opcode in Opcode for more in ("", " FIN=0")]


class RecordingError(Exception):
    """Raised when a file cannot be read as a recorded session."""


class Recorder:
    """Writes all sessions to files ``REQUEST-ID.ndjson`` in a directory; a listener of the emulator.

    Raises:
        OSError: the directory is none, cannot be made, or takes no file.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()  # now, not in the first session

    def __call__(self, trace: SessionTrace, entry: TraceEntry) -> None:
        """Write one entry."""
        # opened anew each time: the file is whole whenever somebody looks, also if the emulator is killed, and
        # nothing has to be told when a session is over
        with (self._directory / f"{trace.request_id}.ndjson").open("a", encoding="utf-8") as file:
            size = file.tell()
            if size == 0:
                file.write(json.dumps(_head(trace)) + "\n")
            if size <= _MAX_BYTES:
                file.write(_line(entry, trace))
                if file.tell() > _MAX_BYTES:
                    file.write(json.dumps(_FULL | {"at": round(entry.at, 6)}) + "\n")
                    _log.warning("%s: %s", file.name, _FULL["text"])


def lines_of(trace: SessionTrace) -> Iterator[str]:
    """Return the lines of a session as a file holds them, but for the payloads, which are not kept."""
    yield json.dumps({**_head(trace), **({"dropped": trace.dropped} if trace.dropped else {})}) + "\n"
    for entry in list(trace.entries):
        yield _line(entry, trace)


def _head(trace: SessionTrace) -> dict[str, Any]:
    return {"format": FORMAT, "request_id": trace.request_id, "operation": trace.operation}


def _line(entry: TraceEntry, trace: SessionTrace) -> str:
    # in ASCII: a text can hold half of a surrogate pair, which UTF-8 cannot, and what others take for the end of a line
    return json.dumps(_encode(entry, trace)) + "\n"


def _encode(entry: TraceEntry, trace: SessionTrace) -> dict[str, Any]:
    record: dict[str, Any] = {
        "at": round(entry.at, 6),
        "hop": entry.hop,
        "direction": entry.direction,
        "kind": entry.kind,
        "text": entry.text,
    }
    if entry.size is not None:
        record["type"] = entry.data_type
        record["size"] = entry.size
    if entry.state is not None:
        record["state"] = entry.state
    if entry.data is not None:
        record["data"] = base64.b64encode(entry.data).decode()
    elif entry.first is not None:
        record["first"] = entry.first.hex()
    if entry.kind == "http" and entry.hop == "container" and entry.direction == "out":
        record["endpoint"] = trace.endpoint
        record["variant"] = trace.variant
        record["target"] = trace.container_target
    return record


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded session. ``target`` is path and query of the WebSocket in the container."""

    request_id: str
    target: str
    entries: tuple[TraceEntry, ...]
    whole: bool = True
    """False where the wire log was too long, or too old, to be kept in full."""

    @classmethod
    def load(cls, path: Path) -> "Recording":
        """Read a file that a :class:`Recorder` wrote.

        Raises:
            RecordingError: it cannot be read, or is no recorded session; names file and line.
        """
        first, *others = cls.load_all(path)
        if others:
            raise RecordingError(f"{path} holds {len(others) + 1} sessions, expected is one")
        return first

    @classmethod
    def load_all(cls, path: Path) -> list["Recording"]:
        """Read a file of one session or more.

        Raises:
            RecordingError: it cannot be read, or is no recorded session; names file and line.
        """
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RecordingError(f"{path} cannot be read: {error}") from error
        found: list[_Draft] = []
        # not splitlines: U+2028, U+0085 and the like may stand in the JSON
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            try:
                record = json.loads(line)
                if number == 1 or "format" in record:
                    if record["format"] != FORMAT:
                        raise ValueError(f"its format is {record['format']!r:.100}, expected is {FORMAT!r}")
                    found.append(_Draft(str(record["request_id"]), whole="dropped" not in record))
                    continue
                found[-1].entries.append(_decode(record))
                found[-1].whole = found[-1].whole and "dropped" not in record
                found[-1].target = str(record.get("target", found[-1].target))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                if number == 1:
                    break
                why = f"{error} is missing" if isinstance(error, KeyError) else error
                raise RecordingError(f"{path}, line {number} is no entry of a recorded session ({why})") from error
        if not found:
            raise RecordingError(f"{path} is no recorded session: its first line is not of format {FORMAT!r}")
        return [cls(draft.request_id, draft.target, tuple(draft.entries), draft.whole) for draft in found]

    def frames(self, direction: str) -> list[tuple[float, Frame]]:
        """Return the frames to (``out``) or from (``in``) the container with their times.

        Raises:
            RecordingError: the file does not hold them, only what the wire log shows of them.
        """
        entries = [entry for entry in self.entries if entry.kind == "frame" and entry.direction == direction]
        if not self.whole or any(entry.data is None for entry in entries):
            raise RecordingError(
                f"session {self.request_id}: the file does not hold what its frames carried, so that it can be shown "
                "but not replayed. A trace saved from the admin API or the inspector page has no payloads; "
                f"'emulator up --record DIR' keeps them, up to {_MAX_BYTES >> 20} MiB"
            )
        return [(entry.at, _frame(entry)) for entry in entries]


@dataclass
class _Draft:
    request_id: str
    target: str = ""
    entries: list[TraceEntry] = field(default_factory=list)
    whole: bool = True


def _decode(record: dict[str, Any]) -> TraceEntry:
    data = record.get("data")
    at = float(record.get("at", 0.0))
    if not math.isfinite(at):
        raise ValueError(f"at is {at}, expected are seconds")
    kind = str(record["kind"])
    return TraceEntry(
        at,
        _one_of(get_args(Hop), record, "hop", "container"),
        _one_of(get_args(Direction), record, "direction", "in"),
        cast("Kind", kind),
        str(record["text"]),
        base64.b64decode(data, validate=True) if data is not None else None,
        _one_of(_FRAME_TYPES, record, "type", None) if kind == "frame" else record.get("type"),
        record.get("state"),
        record.get("size"),
        bytes.fromhex(record["first"]) if "first" in record else None,
    )


def _one_of(known: Sequence[str], record: dict[str, Any], name: str, default: str | None) -> Any:
    value = record.get(name, default)
    if value not in known:
        raise ValueError(f"{name} is {value!r:.100}, expected is one of {', '.join(known)}")
    return value


def _frame(entry: TraceEntry) -> Frame:
    opcode, _, unfinished = (entry.data_type or "").partition(" ")
    return Frame(Opcode[opcode], entry.data or b"", fin=not unfinished)
