"""What one session said, short enough to keep and to compare: the same input for the service and the emulator."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from contract_tests.answer import json_object
from contract_tests.client import Part, Session

__all__ = ["differences", "transcript"]

_TOLERANCE = 0.5
"""Another engine speaks the same words in another length."""
_EXCERPT = 200
_ARN = re.compile(r"arn:[\w-]+:[^\s'\"]+")
_NUMBER = re.compile(r"\d+")


def transcript(session: Session) -> dict[str, Any]:
    """Return the session as JSON: ``sent``, ``heard`` and ``end``, one line for each message or run of audio."""
    return {"sent": _lines(session.sent), "heard": _lines(session.heard), "end": _end(session)}


def _end(session: Session) -> str:
    over = session.over
    if over is None:
        return "left open"
    after = session.input_ended is not None and over.at >= session.input_ended
    return f"{'once the client had ended its input, ' if after else ''}{over}"


def _lines(parts: Sequence[Part]) -> list[str]:
    lines: list[str] = []
    audio = 0
    for part in parts:
        if json_object(part.data) is None and part.data_type != "UTF8" and len(part.data) > 1:
            audio += len(part.data)
            continue
        if audio:
            lines.append(f"BINARY {audio} bytes")
            audio = 0
        state = " PARTIAL" if part.completion_state == "PARTIAL" else ""
        lines.append(f"{part.data_type or 'unset'}{state} {_text(part.data)}")
    return [*lines, *([f"BINARY {audio} bytes"] if audio else [])]


def _text(data: bytes) -> str:
    body = json_object(data)
    if body is None:
        return repr(data[:_EXCERPT])[1:]
    # durations and times differ from engine to engine
    plain = {name: "#" if isinstance(value, float) else value for name, value in body.items()}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)[:_EXCERPT]


def differences(
    service: Mapping[str, Sequence[Mapping[str, Any]]], emulator: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Compare transcripts by name of the probe; return one line for each difference, empty where all is alike."""
    found = []
    for name, sessions in service.items():
        others = emulator.get(name, ())
        if len(sessions) != len(others):
            found.append(f"{name}: {len(sessions)} sessions; the emulator had {len(others)}")
        for one, other in zip(sessions, others, strict=False):
            found += [f"{name}: {line}" for line in _differences(one, other)]
    return found


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    lines = []
    heard, answered = one["heard"], other["heard"]
    for number in range(max(len(heard), len(answered))):
        here = heard[number] if number < len(heard) else "nothing more"
        there = answered[number] if number < len(answered) else "nothing more"
        if not _alike(here, there):
            lines.append(f"answer {number + 1}: {here}; the emulator: {there}")
            break  # what follows is shifted and says nothing
    if _plain(one["end"]) != _plain(other["end"]):
        lines.append(f"end: {one['end']}; the emulator: {other['end']}")
    return lines


def _alike(here: str, there: str) -> bool:
    sizes = [re.fullmatch(r"BINARY (\d+) bytes", line) for line in (here, there)]
    if sizes[0] and sizes[1]:
        one, other = (int(size[1]) for size in sizes if size)
        return abs(one - other) <= _TOLERANCE * max(one, other)
    return here == there


def _plain(end: str) -> str:
    """Return the end of a session without what differs from account to account."""
    return _NUMBER.sub("#", _ARN.sub("ARN", re.sub(r"id: \S+", "id", end)))
