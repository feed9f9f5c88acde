"""What a container can do wrong on its WebSocket, and what is said of it."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator import Endpoint, Server, Switches
from emulator.sidecar import Sidecar
from emulator.tests.client import RawClient, event
from emulator.tests.stage import client_of, exception, upgraded
from emulator.wire.frames import Frame, Opcode
from emulator.wire.utf8 import TextCheck

SWITCHES = Switches(signatures="off", close_timeout=0.1, accept_timeout=60)
Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_container(
    state: Path, script: Raw, switches: Switches = SWITCHES
) -> AsyncIterator[tuple[RawClient, Server]]:
    """Run a container that gets the bytes of the upgrade request, and a client of the emulator in front of it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await script(reader, writer)
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        server = Server({"ep": Endpoint(url)}, switches=switches, state_directory=state)
        async with server, client_of(server) as client:
            yield client, server


def told(server: Server) -> str:
    return "\n".join(server.data_plane.traces[-1].lines())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\nat capacity", "HTTP 503 instead of 101, saying 'at capacity'"),
        (b"HTTP/1.1 401 Unauthorized\r\nconnection: keep-alive\r\n\r\n", "HTTP 401 instead of 101"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "HTTP 200 instead of 101"),
    ],
)
async def test_a_refusal_whose_end_does_not_come_keeps_its_status(
    state_directory: Path, answer: bytes, said: str
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with raw_container(state_directory, refuse) as (
        client,
        server,
    ):
        assert await client.status(await client.open()) == 424
        assert said in told(server)


async def test_nobody_dials_on_for_a_client_that_has_left(state_directory: Path) -> None:
    dialled, left = asyncio.Event(), asyncio.Event()

    async def never(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        dialled.set()
        await reader.read()
        left.set()

    async with raw_container(state_directory, never) as (client, server):
        stream = await client.open()
        async with asyncio.timeout(10):  # the container has 60 s to accept
            await dialled.wait()
            client.h2.reset_stream(stream)
            await client.flush()
            await left.wait()
        assert "client gave up before the session began" in told(server)


async def test_who_gives_up_while_dialling_leaves_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def give_up(port: int) -> bool:
        class Leaving(Sidecar):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                dialling.cancel()

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                lost.set()

        lost = asyncio.Event()
        dialling = asyncio.create_task(Leaving.connect("127.0.0.1", port, "/", "id", SWITCHES))
        async with asyncio.timeout(10):
            await asyncio.wait([dialling])
            await lost.wait()
        return dialling.cancelled()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as listening:
        assert await give_up(listening.sockets[0].getsockname()[1])
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize(
    ("close", "said"),
    [
        (b"\x88\x02\x03\xed", "its Close frame has the code 1005, which must not be sent (RFC 6455, section 7.4)"),
        (b"\x88\x05\x03\xe7bye", "its Close frame has the code 999, which must not be sent"),
        (b"\x88\x01\x03", "its Close frame has a payload of one byte, which is no code"),
        (b"\x88\x04\x03\xe8\xff\xff", "its Close frame has the code 1000 and a reason that is no UTF-8"),
    ],
)
async def test_a_close_frame_that_must_not_be_sent_is_named(state_directory: Path, close: bytes, said: str) -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer, close)

    async with raw_container(state_directory, leave) as (client, server):
        stream = await client.open()
        kind, members = exception(await client.next(stream))
        assert kind == "ModelStreamError"
        assert members["Message"].startswith(f"The container broke the WebSocket protocol: {said}")
        assert "without a Close frame" not in told(server)
        trace = server.data_plane.traces[-1]
        assert trace.container_close is not None
        assert not trace.container_eof_without_close


async def test_a_close_inside_of_a_fragmented_message_keeps_its_code_and_is_answered(state_directory: Path) -> None:
    answered = asyncio.get_running_loop().create_future()

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer, b"\x01\x02ha", b"\x88\x06\x03\xf3done")
        answered.set_result(await reader.readexactly(2 + 4 + 6))

    async with raw_container(state_directory, leave) as (client, server):
        stream = await client.open()
        assert (await client.message(stream)).payload == b"ha"
        kind, members = exception(await client.next(stream))
        assert (kind, members["ErrorCode"]) == ("ModelStreamError", "1011")
        assert members["Message"] == "done It left a fragmented message unfinished."
        assert server.data_plane.traces[-1].container_close == (1011, "done")
        close = await answered
        assert close[:2] == b"\x88\x86"
        assert bytes(byte ^ close[2 + at % 4] for at, byte in enumerate(close[6:])) == b"\x03\xf3done"


async def test_the_limit_is_of_a_part_not_of_a_fragmented_message(state_directory: Path) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer, b"\x01\x03one", b"\x00\x03two", b"\x80\x03end", b"\x81\x05large")

    async with raw_container(state_directory, talk, replace(SWITCHES, max_part_bytes=4)) as (client, _):
        stream = await client.open()
        assert [(await client.message(stream)).payload for _ in range(3)] == [b"one", b"two", b"end"]
        _, members = exception(await client.next(stream))
        assert "broke the WebSocket protocol" in members["Message"]
        assert "5 bytes" in members["Message"]


async def test_the_end_of_a_container_that_reads_nothing_is_seen_at_once(state_directory: Path) -> None:
    full, told_client = asyncio.Event(), asyncio.Event()

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's has it
        await full.wait()
        writer.write_eof()
        await told_client.wait()
        writer.transport.abort()

    async with raw_container(state_directory, leave) as (client, _):
        stream = await client.open()
        chunk = event(bytes(16_000))
        while await client.window(stream, len(chunk), patience=0.5):
            await client.send(stream, chunk)
        full.set()
        try:
            _, members = exception(await client.next(stream))
        finally:
            told_client.set()
        assert "without a Close frame (TCP end)" in members["Message"]


async def test_a_frame_that_is_none_is_no_dropped_connection(state_directory: Path) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer, b"\xf1\x00")  # reserved bits set

    async with raw_container(state_directory, talk) as (client, server):
        _, members = exception(await client.next(await client.open()))
        assert members["Message"].startswith("The container broke the WebSocket protocol: reserved bits must be 0.")
        assert server.data_plane.traces[-1].container_eof_without_close


async def test_text_that_is_no_utf_8_is_passed_on_and_noted(state_directory: Path) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upgraded(reader, writer, b"\x81\x02\xc3\x28", b"\x81\x02ok")

    async with raw_container(state_directory, talk) as (client, server):
        stream = await client.open()
        got: Any = [await client.message(stream), await client.message(stream)]
        assert [message.payload for message in got] == [b"\xc3\x28", b"ok"]
        assert told(server).count("this TEXT is no UTF-8") == 1


def test_characters_may_be_cut_by_fragments_but_must_end() -> None:
    text, more, last = (Opcode.TEXT, False), (Opcode.CONTINUATION, False), (Opcode.CONTINUATION, True)

    def breaks(*frames: tuple[tuple[Opcode, bool], bytes]) -> list[bool]:
        check = TextCheck()
        return [check.breaks(Frame(opcode, data, fin)) for (opcode, fin), data in frames]

    assert breaks((text, b"\xe2"), (more, b"\x82"), (last, b"\xac")) == [False, False, False]
    assert breaks((text, b"\xe2"), (more, b""), (last, b"")) == [False, False, True]
    assert breaks((text, b"\xff"), (more, b"\xff"), (last, b"")) == [True, False, False]
    assert breaks(((Opcode.BINARY, False), b"\xff"), (last, b"\xff")) == [False, False]
