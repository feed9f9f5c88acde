"""One request and its response, whatever the HTTP version: what a handler sees of it."""

import json
from collections.abc import Callable
from typing import Protocol

from emulator.wire.exceptions import RequestError

__all__ = ["Exchange", "answer", "answer_error", "read_body"]


class Exchange(Protocol):
    """One request and its response. ``headers`` have lower-case names, ``path`` is raw and includes the query.

    Every method that waits raises ``ClientGoneError`` when the client gave up.
    """

    method: str
    path: str
    authority: str
    scheme: str
    headers: list[tuple[str, str]]
    peer: str
    """Address of the client, empty where it is not known."""

    async def receive(self) -> bytes | None:
        """Return the next bytes of the request body, None at its end."""

    async def start(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Send the response head."""

    async def send(self, data: bytes) -> None:
        """Send bytes of the response body."""

    def end(self) -> None:
        """End the response."""

    async def fail(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Answer with a whole error response, also where the request was not read to its end."""

    def reset(self) -> None:
        """Break the response off, so that the client cannot take it for whole."""


async def read_body(exchange: Exchange, check: Callable[[int], None]) -> bytes:
    """Return the whole request body; ``check`` is told how many bytes have come, and raises where they are too many."""
    collected = bytearray()
    while (data := await exchange.receive()) is not None:
        collected += data
        check(len(collected))
    return bytes(collected)


async def answer(exchange: Exchange, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    """Answer with a whole response."""
    await exchange.start(status, [*headers, ("content-length", str(len(body)))])
    await exchange.send(body)
    exchange.end()


async def answer_error(
    exchange: Exchange, error: RequestError, headers: list[tuple[str, str]], member: str = "Message"
) -> None:
    """Answer with an error as the SDKs read it: the type in ``x-amzn-errortype``, the members in JSON.

    ``member`` is the name of the message in the service's model: SageMaker's are PascalCase.
    """
    body = json.dumps({member: error.message, **error.members}).encode()
    head = [("content-type", "application/json"), ("content-length", str(len(body))), ("x-amzn-errortype", error.type)]
    await exchange.fail(error.status, [*head, *headers], body)
