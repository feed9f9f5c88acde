"""A client that is gone, or reads no more: its session ends, and its container learns of it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server, SessionTrace, TraceEntry
from emulator.tests.client import RawClient, event
from emulator.tests.containers import container
from emulator.tests.stage import UNSIGNED, client_of, stage

Leave = Callable[[RawClient, int], Awaitable[None]]


async def reset(client: RawClient, stream: int) -> None:
    client.h2.reset_stream(stream)
    await client.flush()


async def drop(client: RawClient, _: int) -> None:
    client.writer.transport.abort()


@pytest.mark.parametrize("leave", [reset, drop])
async def test_a_client_that_leaves_is_noticed_while_its_container_reads_nothing(
    state_directory: Path, leave: Leave
) -> None:
    parted = asyncio.Event()

    async def asleep(connection: ServerConnection) -> None:
        connection.transport.pause_reading()
        await parted.wait()
        connection.transport.abort()

    def listen(_: SessionTrace, entry: TraceEntry) -> None:
        if (entry.hop, entry.kind) == ("container", "close"):
            parted.set()

    async with (
        container(asleep) as target,
        Server(
            {"ep": Endpoint(target.url)},
            switches=replace(UNSIGNED, close_timeout=0.1),
            state_directory=state_directory,
            listener=listen,
        ) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 200
        chunk = event(bytes(16_000))
        while await client.window(stream, len(chunk), patience=0.5):
            await client.send(stream, chunk)
        await leave(client, stream)
        try:
            async with asyncio.timeout(5):
                await parted.wait()
        finally:
            parted.set()  # the container waits for it
        trace = "\n".join(server.data_plane.traces[-1].lines())
        assert ("client reset the stream" if leave is reset else "connection lost") in trace


@pytest.mark.parametrize("leave", [reset, drop])
async def test_a_client_that_leaves_is_noticed_after_it_has_closed_its_half(
    state_directory: Path, leave: Leave
) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, client_end="half-close")) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"last"), end=True)
        assert (await on.client.message(stream)).payload == b"last"
        await leave(on.client, stream)
        assert (await on.container.close_seen())[0] == 1000


async def flood(connection: ServerConnection) -> None:
    while True:
        await connection.send(bytes(10_000))


async def test_the_limit_of_a_session_holds_for_a_client_that_reads_nothing(state_directory: Path) -> None:
    switches = replace(UNSIGNED, max_duration=0.3, close_timeout=0.1)
    async with stage(state_directory, flood, switches, auto_credit=False) as on:
        stream = await on.open()
        await on.container.close_seen()
        on.client.h2.increment_flow_control_window(1_000_000)
        got = await on.client.next(stream)
        while not isinstance(got, str):
            got = await on.client.next(stream)
        assert got == "RST_STREAM 2"  # INTERNAL_ERROR
        trace = "\n".join(on.server.data_plane.traces[-1].lines())
        assert "the client has read nothing for 1 s" in trace


async def test_a_client_that_reads_slowly_gets_the_end_of_its_session(state_directory: Path) -> None:
    large = bytes(200_000)

    async def talk(connection: ServerConnection) -> None:
        await connection.send(large)
        await connection.close(1011, "model died")

    async with stage(state_directory, talk, replace(UNSIGNED, close_timeout=0.1), auto_credit=False) as on:
        stream = await on.open()
        await on.container.close_seen()
        await on.client.credit()
        assert (await on.client.message(stream)).payload == large
        assert (await on.client.message(stream)).string(":exception-type") == "ModelStreamError"
        assert await on.client.next(stream) == "END_STREAM"
