"""The client towards containers: requests that HTTP/1.1 cannot carry."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from emulator.http1 import client
from emulator.http1.client import PeerError
from emulator.tests.http_container import HttpContainer, Seen, http_container


async def hang(seen: Seen, _: asyncio.StreamWriter) -> None:
    await seen.client_gone()


async def ask(
    container: HttpContainer,
    headers: list[tuple[str, str]],
    target: str = "/x",
    body: bytes | AsyncIterator[bytes] = b"",
) -> None:
    address = urlsplit(container.url)
    async with client.request(address.hostname or "", address.port or 0, "POST", target, headers, body):
        pass


@pytest.mark.parametrize(
    ("name", "value", "target", "why"),
    [
        ("x", "a\nb", "/x", "Illegal header value"),
        ("x", "€", "/x", "can't encode character"),
        ("é", "x", "/x", "can't encode character"),
        ("x", "x", "/a b", "target"),
        ("x", "x", "/€", "can't encode character"),
    ],
)
async def test_a_head_that_cannot_be_written_is_an_error_of_the_request(
    name: str, value: str, target: str, why: str
) -> None:
    async with asyncio.timeout(10), http_container(hang) as container:
        with pytest.raises(PeerError, match=rf"cannot be written as HTTP/1\.1 \(.*{why}"):
            await ask(container, [(name, value)], target)
        assert container.seen == []


@pytest.mark.parametrize("sent", [1, 3])
async def test_a_body_of_another_length_than_announced_is_one_too(sent: int) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(sent):
            yield b"x"

    async with asyncio.timeout(10), http_container(hang) as container:
        for given in (b"x" * sent, body()):
            with pytest.raises(PeerError, match=r"cannot be written .* Content-Length"):
                await ask(container, [("content-length", "2")], body=given)
