"""Who waits for whom, and for how long: windows, slow readers, pings, limits, clients that vanish."""

import asyncio
from dataclasses import replace
from pathlib import Path

from websockets.asyncio.server import ServerConnection

from emulator import Endpoint, Server
from emulator.tests.client import END_OF_INPUT, event
from emulator.tests.containers import container
from emulator.tests.stage import UNSIGNED, client_of, exception, serving, stage, upgraded
from emulator.wire.eventstream import Message


async def test_a_reset_by_the_client_closes_the_container(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.open()
        on.client.h2.reset_stream(stream, 8)
        await on.client.flush()
        assert (await on.container.close_seen())[0] == 1000


async def test_a_lost_client_connection_closes_the_container_even_while_it_floods(state_directory: Path) -> None:
    async def flood(connection: ServerConnection) -> None:
        while True:
            await connection.send(bytes(60_000))

    async with stage(state_directory, flood, auto_credit=False) as on:
        await on.open()
        on.client.writer.transport.abort()
        assert (await on.container.close_seen())[0] == 1000


async def test_a_container_that_does_not_read_slows_the_client_down(state_directory: Path) -> None:
    wake = asyncio.Event()

    async def sleepy(connection: ServerConnection) -> None:
        await wake.wait()
        async for message in connection:
            await connection.send(str(len(message)))

    async with stage(state_directory, sleepy, replace(UNSIGNED, window=65_535)) as on:
        stream = await on.open()
        chunk, sent = event(bytes(8_000)), 0
        # the kernel's socket buffers take some megabytes before anybody feels anything
        async with asyncio.timeout(20):
            while sent < 4000:
                if not await on.client.window(stream, len(chunk), patience=0.5):
                    break
                await on.client.send(stream, chunk)
                sent += 1
        assert sent < 4000, "32 MB were taken from the client although the container read nothing"
        wake.set()
        for _ in range(sent):
            assert (await on.client.message(stream)).payload == b"8000"


async def test_a_client_that_gives_no_window_slows_the_container_down(state_directory: Path) -> None:
    progress: list[int] = []
    stalled = asyncio.Event()

    async def eager(connection: ServerConnection) -> None:
        for number in range(1000):
            progress.append(number)
            try:
                async with asyncio.timeout(0.5):
                    await connection.send(bytes(64_000))
            except TimeoutError:
                stalled.set()
                return

    async with stage(state_directory, eager, auto_credit=False) as on:
        await on.open()
        async with asyncio.timeout(20):
            await stalled.wait()
        assert len(progress) < 1000


async def test_pings_of_the_container_are_answered(state_directory: Path) -> None:
    answered = asyncio.Event()

    async def pinging(connection: ServerConnection) -> None:
        await (await connection.ping(b"are you there"))
        answered.set()
        await connection.wait_closed()

    async with stage(state_directory, pinging) as on:
        await on.open()
        async with asyncio.timeout(5):
            await answered.wait()


async def test_a_container_that_answers_its_pings_is_not_cut(state_directory: Path) -> None:
    async with container() as target:
        pongs = asyncio.Queue[str]()
        server = Server(
            {"ep": Endpoint(target.url)},
            switches=replace(UNSIGNED, ping_interval=0.02, ping_misses=2),
            state_directory=state_directory,
            listener=lambda _, entry: pongs.put_nowait(entry.text) if entry.kind == "pong" else None,
        )
        async with server, client_of(server) as client:
            stream = await client.open()
            async with asyncio.timeout(5):
                assert [await pongs.get() for _ in range(6)] == ["1", "2", "3", "4", "5", "6"]
            await client.send(stream, event(b"still here"))
            assert (await client.message(stream)).payload == b"still here"


async def test_a_container_that_answers_no_ping_is_cut_with_an_error(state_directory: Path) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer)
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(mute, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    switches = replace(UNSIGNED, ping_interval=0.02, ping_misses=5, close_timeout=0.1)
    async with (
        listening,
        serving(f"http://127.0.0.1:{port}", state_directory, switches) as server,
        client_of(server) as client,
    ):
        stream = await client.open()
        assert await client.status(stream) == 200
        kind, members = exception(await client.next(stream))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "PingTimeout")
        pings = [entry for entry in server.data_plane.traces[-1].entries if entry.kind == "ping"]
        assert len(pings) == 5


async def test_a_session_ends_at_the_limit_of_its_duration(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, max_duration=0.05)) as on:
        kind, members = exception(await on.client.next(await on.open()))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "SessionLimit")
        assert "reached its limit of 0.05 s" in members["Message"]
        assert await on.container.close_seen() == (1000, "")


async def test_a_reset_at_the_limit_is_a_reset(state_directory: Path) -> None:
    switches = replace(UNSIGNED, max_duration=0.05, max_duration_end="reset")
    async with stage(state_directory, switches=switches) as on:
        assert await on.client.next(await on.open()) == "RST_STREAM 2"


async def test_an_answer_in_the_grace_after_the_end_of_input_still_arrives(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, client_end_grace=0.2)) as on:
        stream = await on.open()
        await on.client.send(stream, event(b"last words") + END_OF_INPUT, end=True)
        assert (await on.client.message(stream)).payload == b"last words"
        assert await on.client.next(stream) == "END_STREAM"
        assert await on.container.close_seen() == (1000, "")


async def test_a_vanished_client_can_be_a_mere_disconnect(state_directory: Path) -> None:
    async with stage(state_directory, switches=replace(UNSIGNED, client_drop="disconnect")) as on:
        await on.open()
        on.client.writer.transport.abort()
        assert (await on.container.close_seen())[0] == 1006


async def test_sessions_of_one_connection_share_its_window_fairly(state_directory: Path) -> None:
    async def flood_or_echo(connection: ServerConnection) -> None:
        if await connection.recv() == b"flood":
            while True:
                await connection.send(bytes(60_000))
        async for message in connection:
            await connection.send(message)

    async with stage(state_directory, flood_or_echo) as on:
        floods = [await on.open() for _ in range(3)]
        last = await on.open()
        for stream in floods:
            await on.client.send(stream, event(b"flood"))
            await on.client.message(stream)
        await on.client.send(last, event(b"echo"))
        for number in range(20):
            await on.client.send(last, event(b"%d" % number))
            assert (await on.client.message(last)).payload == b"%d" % number
        counts = [on.client.received(stream) for stream in floods]
        assert min(counts) > max(counts) / 3


async def test_a_client_that_does_not_read_is_no_fault_of_a_container_that_answers_its_pings(
    state_directory: Path,
) -> None:
    pings = asyncio.Queue[str]()

    async def flood(connection: ServerConnection) -> None:
        for _ in range(40):
            await connection.send(bytes(60_000))
        await connection.close(1000)

    async with container(flood) as target:
        server = Server(
            {"ep": Endpoint(target.url)},
            switches=replace(UNSIGNED, ping_interval=0.02, ping_misses=3),
            state_directory=state_directory,
            listener=lambda _, entry: pings.put_nowait(entry.text) if entry.kind == "ping" else None,
        )
        async with server, client_of(server, auto_credit=False) as client:
            stream = await client.open()
            async with asyncio.timeout(10):
                while await pings.get() != "9":  # three times as many as may be missed
                    pass
            await client.credit()
            got = [await client.next(stream)]
            while got[-1] != "END_STREAM":
                got.append(await client.next(stream))
        assert sum(len(part.payload) for part in got[:-1] if isinstance(part, Message)) == 40 * 60_000
