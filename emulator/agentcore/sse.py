"""Server-sent events as an agent sends them, out of transport blocks that end anywhere."""

import json
from typing import Any

__all__ = ["MOST_BYTES", "EventReader", "SseError"]

MOST_BYTES = 10_000_000
"""In one event: the largest chunk that AgentCore streams."""
_SHOWN = 100


class SseError(Exception):
    """Raised on what is no stream of JSON objects, and where one ends inside an event."""


class EventReader:
    """Takes bytes in any fragmentation, gives the JSON object of each event with ``data:`` lines.

    Lines end with LF or CR LF and with nothing else: U+2028, U+0085 and the like, at which ``str.splitlines`` cuts, may
    stand in the JSON, and a block may end inside a character. Other fields and comments (keep-alives) are left out.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._data: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take bytes, return the events that they complete.

        Raises:
            SseError: an event is no JSON object, or is too large.
        """
        self._rest += data
        events = []
        begin = 0
        while (end := self._rest.find(b"\n", max(begin, self._searched))) >= 0:
            line = bytes(self._rest[begin:end]).removesuffix(b"\r")
            begin = end + 1
            if line.startswith(b"data:"):
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
                self._held += len(line)
            elif not line and self._data:
                events.append(self._event())
        del self._rest[:begin]
        self._searched = len(self._rest)
        if self._held + len(self._rest) > MOST_BYTES:
            raise SseError(f"an event of the agent has no end within {MOST_BYTES:,} bytes")
        return events

    def finish(self) -> None:
        """Say that no more bytes come.

        Raises:
            SseError: the stream ended inside an event.
        """
        if self._data or self._rest.strip():
            shown = b"\n".join([*self._data, bytes(self._rest)])[:_SHOWN]
            raise SseError(f"the agent's stream ended inside an event: {shown!r}")

    def _event(self) -> dict[str, Any]:
        data = b"\n".join(self._data)
        self._data.clear()
        self._held = 0
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise SseError(f"an event of the agent is no JSON ({error}): {data[:_SHOWN]!r}") from error
        if not isinstance(event, dict):
            raise SseError(f"an event of the agent is no JSON object: {data[:_SHOWN]!r}")
        return event
