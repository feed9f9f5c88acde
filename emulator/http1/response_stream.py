"""The events of ``InvokeEndpointWithResponseStream``, and how the container's bytes are cut into them."""

import itertools
from typing import cast

from emulator import facts
from emulator.wire.eventstream import encode, encode_headers, string_header

__all__ = ["PartCutter", "encode_part"]

_BLOCK = encode_headers(
    {
        ":message-type": string_header("event"),
        ":event-type": string_header("PayloadPart"),
        ":content-type": string_header("application/octet-stream"),
    }
)
_SIZES = cast("list[int]", facts.get("rs.no-alignment").value)


def encode_part(data: bytes) -> bytes:
    """Encode one ``PayloadPart`` event."""
    return encode(_BLOCK, data)


class PartCutter:
    """Cuts a stream of bytes into parts that do not follow the container's chunks (fact ``rs.no-alignment``).

    A cut is made at fixed places of the stream, after 4090 bytes, then after 8192 more, and so on in turns: a client
    that takes each part for one line or one JSON object fails here as it does on AWS. Nothing is held back.
    """

    def __init__(self) -> None:
        self._sizes = itertools.cycle(_SIZES)
        self._room = next(self._sizes)

    def cut(self, data: bytes) -> list[bytes]:
        """Return the parts for the next bytes of the container."""
        parts = []
        while data:
            part, data = data[: self._room], data[self._room :]
            parts.append(part)
            self._room -= len(part)
            if not self._room:
                self._room = next(self._sizes)
        return parts
