"""Server-sent events cut anywhere: the body of an agent's answer, put together again."""

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["EventReader", "StreamSyntaxError"]

_MOST_BYTES = 16 << 20


class StreamSyntaxError(Exception):
    """Raised when the stream is not made of JSON objects in ``data:`` lines."""


class EventReader:
    """Takes bytes as they come and gives the events that are whole. Each event is one JSON object.

    Lines are cut at line feeds only: ``str.splitlines`` would cut at U+2028 inside the JSON. The pieces of a stream
    line up with nothing, least of all with characters.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Take the next bytes and yield the events that they complete.

        Raises:
            StreamSyntaxError: an event is no JSON object, or has no end within 16 MiB.
        """
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        if len(rest) > _MOST_BYTES:
            raise StreamSyntaxError(f"an event has no end within {_MOST_BYTES:,} bytes")
        self._rest = bytearray(rest)
        for line in (bytes(each).removesuffix(b"\r") for each in lines):
            if line.startswith(b"data:"):
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and self._data:
                yield self._event()
            # other fields and comments (keep-alives) say nothing here

    def end(self) -> None:
        """Say that the body is over.

        Raises:
            StreamSyntaxError: it ended in the middle of an event.
        """
        if self._rest.strip() or self._data:
            raise StreamSyntaxError(f"the body ended in the middle of an event: {bytes(self._rest[:80])!r}")

    def _event(self) -> dict[str, Any]:
        payload = b"\n".join(self._data)
        self._data.clear()
        try:
            body = json.loads(payload)
        except ValueError as error:
            raise StreamSyntaxError(f"an event is no JSON ({error}): {payload[:80]!r}") from error
        if not isinstance(body, dict):
            raise StreamSyntaxError(f"an event is no JSON object: {payload[:80]!r}")
        return body
