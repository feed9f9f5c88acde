"""Server-sent events as they came, byte by byte: what is in them, and what is wrong with them."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

__all__ = ["Event", "Flaw", "read_events"]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_FIELD = re.compile(rb"(?:data|event|id|retry)(?::|$)|:")
_SEPARATORS = {"\u2028": "U+2028", "\u2029": "U+2029", "\x85": "U+0085"}
_SHOWN = 120

Flaw = str
"""What is wrong with an event: ``not-json``, ``repr``, ``constant``, ``separator``, ``field``, ``utf-8`` or ``cut``."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``at``: when its last byte came, in seconds since the request; ``body``: its JSON object, or None.

    ``flaws``: what is wrong with it, by kind, in words.
    """

    at: float
    data: bytes = field(repr=False)
    body: dict[str, object] | None
    flaws: dict[Flaw, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = self.data.decode("utf-8", "backslashreplace")
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def read_events(blocks: Iterable[tuple[float, bytes]]) -> list[Event]:
    """Return the events of a body. ``blocks``: when each came, and what; they are cut anywhere.

    A line ends with LF, CR or CR LF, an event with an empty line (https://html.spec.whatwg.org, "9.2.6").
    """
    body = bytearray()
    ends: list[tuple[int, float]] = []
    for at, block in blocks:
        body += block
        ends.append((len(body), at))
    return list(_events(bytes(body), ends))


def _events(body: bytes, ends: list[tuple[int, float]]) -> Iterator[Event]:
    lines: list[bytes] = []
    begin = block = 0
    for match in _LINE_END.finditer(body):
        line, begin = body[begin : match.start()], match.end()
        if line:
            lines.append(line)
        elif lines:
            while ends[block][0] < match.end():
                block += 1
            if (event := _event(lines, ends[block][1])) is not None:
                yield event
            lines = []
    if lines or body[begin:].strip():
        rest = b"\n".join([*lines, body[begin:]])
        yield Event(ends[-1][1], rest, None, {"cut": f"the body ends inside an event: {rest[-_SHOWN:]!r}"})


def _event(lines: list[bytes], at: float) -> Event | None:
    """Return the event that these lines are, None where they carry no data and nothing is wrong with them."""
    flaws: dict[Flaw, str] = {}
    odd = [line for line in lines if not _FIELD.match(line)]
    if odd:
        flaws["field"] = f"a line that is no field of an event: {odd[0][:_SHOWN]!r}"
    data = [line.removeprefix(b"data:").removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    if not data:
        return Event(at, b"\n".join(lines), None, flaws) if flaws else None
    payload = b"\n".join(data)
    try:
        text = payload.decode()
    except UnicodeDecodeError as problem:
        return Event(at, payload, None, {**flaws, "utf-8": f"the data is no UTF-8 ({problem})"})
    raw = [name for character, name in _SEPARATORS.items() if character in text]
    if raw:
        flaws["separator"] = f"{' and '.join(raw)} stands in the data as it is, where many readers end a line"
    return Event(at, payload, _parse(text, flaws), flaws)


def _parse(text: str, flaws: dict[Flaw, str]) -> dict[str, object] | None:
    def refuse(name: str) -> NoReturn:
        raise _ConstantError(name)

    try:
        body = json.loads(text, parse_constant=refuse)
    except _ConstantError as constant:
        flaws["constant"] = f"{constant} stands in the JSON, which has no such value: {text[:_SHOWN]}"
        return None
    except (ValueError, RecursionError) as problem:
        flaws["not-json"] = f"the data is no JSON ({problem}): {text[:_SHOWN]!r}"
        return None
    if isinstance(body, dict):
        return body
    if isinstance(body, str):
        flaws["repr"] = f"the data is a JSON string in the place of an object: {text[:_SHOWN]}"
    else:
        flaws["not-json"] = f"the data is no JSON object: {text[:_SHOWN]}"
    return None


class _ConstantError(Exception):
    """Raised for NaN, Infinity and -Infinity."""
