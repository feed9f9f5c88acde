"""A stalled reader and a fast writer: the memory of the emulator's process stays flat, in both directions."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from emulator.bench import processes
from emulator.certificates import Certificates
from emulator.tests.client import RawClient, event
from emulator.tests.containers import Handler, container

CHUNK = 64_000
WHOLE = 800  # chunks: 51 MB, which would be seen
MOST_MIB = 24.0  # of growth: one window, the queues of both sides, and what a heap keeps
Talk = Callable[[RawClient, int], AsyncIterator[None]]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from /proc")


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


async def grown(handler: Handler, state: Path, talk: Talk) -> float:
    """Let a client talk through an emulator in a process of its own; returns how many MiB that has grown at most."""
    certificates = Certificates.load(state)
    async with container(handler) as target:
        with processes.emulator(target.url, state, "--signatures=off") as emulator:
            async with RawClient(port_of(emulator.url), certificates.ca, auto_credit=False) as client:
                stream = await client.open("bench")
                assert await client.status(stream) == 200
                before = emulator.resident_mib or 0.0
                most = before
                async with asyncio.timeout(90):
                    async for _ in talk(client, stream):
                        most = max(most, emulator.resident_mib or 0.0)
    return most - before


async def test_a_client_that_stalls_and_a_container_that_floods(state_directory: Path) -> None:
    sent, stalled = 0, asyncio.Event()

    async def flood(connection: ServerConnection) -> None:
        nonlocal sent
        for _ in range(WHOLE):
            try:
                async with asyncio.timeout(1):
                    await connection.send(bytes(CHUNK))
            except TimeoutError:
                stalled.set()
                await connection.wait_closed()
                return
            sent += 1
        stalled.set()  # it never was

    async def stall(client: RawClient, stream: int) -> AsyncIterator[None]:
        await stalled.wait()
        yield
        assert client.received(stream) <= 65_535
        assert sent < WHOLE / 2, "the container was not slowed down"

    assert await grown(flood, state_directory, stall) < MOST_MIB


async def test_a_container_that_stalls_and_a_client_that_floods(state_directory: Path) -> None:
    async def asleep(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await connection.wait_closed()

    async def flood(client: RawClient, stream: int) -> AsyncIterator[None]:
        chunk, sent = event(bytes(16_000)), 0
        while sent < WHOLE * 4 and await client.window(stream, len(chunk), patience=1):
            await client.send(stream, chunk)
            sent += 1
            if sent % 50 == 0:
                yield
        yield
        assert sent < WHOLE * 2, "the client was not slowed down"

    assert await grown(asleep, state_directory, flood) < MOST_MIB


async def test_a_client_that_reads_slowly_gets_all_of_it_through_little_memory(state_directory: Path) -> None:
    async def flood(connection: ServerConnection) -> None:
        for number in range(WHOLE):
            await connection.send(number.to_bytes(4) + bytes(CHUNK - 4))

    async def read(client: RawClient, stream: int) -> AsyncIterator[None]:
        await client.credit()
        for number in range(WHOLE):
            assert int.from_bytes((await client.message(stream)).payload[:4]) == number
            if number % 100 == 0:
                yield
        assert await client.next(stream) == "END_STREAM"

    assert await grown(flood, state_directory, read) < MOST_MIB
