"""Server-sent events as an agent sends them, out of transport blocks that end anywhere."""

import json
from typing import Any

__all__ = ["EventReader", "SseError"]

_LIMIT = 10_000_000  # bytes in one event: the largest chunk that AgentCore streams


class SseError(Exception):
    """Raised on what is no stream of JSON events, and where one ends inside an event."""


class EventReader:
    """Takes bytes in any fragmentation, gives the JSON value of each ``data:`` event.

    Bytes are cut at line feeds only: other characters that count as line ends in Unicode may stand in the JSON, and a
    block may end inside a character.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[Any]:
        """Take bytes, return the values of the events that they complete.

        Raises:
            SseError: an event is too large, or holds no JSON.
        """
        self._buffer += data
        values = []
        while (end := self._buffer.find(b"\n\n", max(self._searched - 1, 0))) >= 0:
            event = bytes(self._buffer[:end])
            del self._buffer[: end + 2]
            self._searched = 0
            lines = [line for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                values.append(_value(b"\n".join(line[5:].removeprefix(b" ") for line in lines)))
        self._searched = len(self._buffer)
        if len(self._buffer) > _LIMIT:
            raise SseError(f"an event of the agent has more than {_LIMIT} bytes")
        return values

    def finish(self) -> None:
        """Say that no more bytes come.

        Raises:
            SseError: the stream ended inside an event.
        """
        if self._buffer.strip():
            raise SseError(f"the agent's stream ended inside an event, after {len(self._buffer)} bytes of it")


def _value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise SseError(f"an event of the agent is no JSON ({error}): {data[:100]!r}") from error
