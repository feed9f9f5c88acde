"""Clients that overwhelm an HTTP/2 server: each is cut off, the others do not notice."""

from pathlib import Path

from hyperframe.frame import DataFrame, RstStreamFrame

from emulator.http2.calm import Calm
from emulator.tests.client import event
from emulator.tests.frames_client import REQUEST, frame
from emulator.tests.http2_cases import CONTINUATION, DATA, END_HEADERS, HEADERS, PING, RST_STREAM, SETTINGS
from emulator.tests.test_http2_conformance import client_of, served, works

MANY = 5000


async def flood(state: Path, frames: list[bytes], *, before: str = "") -> str:
    """Send frames while another client holds a session; returns how the first was ended."""
    async with served(state) as (server, target), client_of(server) as other, client_of(server) as client:
        await other.send(other.request())
        assert await other.status() == 200
        await client.send(*([client.request()] if before == "request" else []), *frames)
        outcome = await client.outcome()
        await other.send(frame(DATA, 0, 1, event(b"undisturbed")))
        assert b"undisturbed" in await other.data(1, 30)
        other.writer.transport.abort()
        for _ in range(len(target.requests)):
            await target.close_seen()
        await works(server)
        return outcome


async def test_pings(state_directory: Path) -> None:
    assert await flood(state_directory, [frame(PING, 0, 0, bytes(8))] * MANY) == "GOAWAY ENHANCE_YOUR_CALM"


async def test_settings(state_directory: Path) -> None:
    assert await flood(state_directory, [frame(SETTINGS)] * MANY) == "GOAWAY ENHANCE_YOUR_CALM"


async def test_empty_data(state_directory: Path) -> None:
    assert await flood(state_directory, [frame(DATA, 0, 1)] * MANY, before="request") == "GOAWAY ENHANCE_YOUR_CALM"


async def test_streams_that_are_reset_as_soon_as_they_are_open(state_directory: Path) -> None:
    async with served(state_directory) as (server, target):
        async with client_of(server) as client:
            for stream in range(1, 2 * MANY, 2):
                await client.send(client.request(stream), frame(RST_STREAM, 0, stream, bytes(4)))
            code = await client.outcome()
            while code.startswith("RST_STREAM"):  # refused, as too many at once
                code = await client.outcome()
            assert code == "GOAWAY ENHANCE_YOUR_CALM"
        for _ in range(len(target.requests)):
            await target.close_seen()
        await works(server)


async def test_a_header_block_without_end(state_directory: Path) -> None:
    continuations = [frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b")] * MANY
    assert await flood(state_directory, [frame(HEADERS, 0, 1, b""), *continuations]) == "GOAWAY PROTOCOL_ERROR"


async def test_a_header_list_over_the_limit(state_directory: Path) -> None:
    async with served(state_directory) as (server, _):
        async with client_of(server) as client:
            block = client.block([*REQUEST, *((f"x-{number}", "a" * 1000) for number in range(70))])
            await client.send(frame(HEADERS, 0, 1, block[:16_000]))
            for at in range(16_000, len(block), 16_000):
                await client.send(
                    frame(CONTINUATION, END_HEADERS if at + 16_000 >= len(block) else 0, 1, block[at : at + 16_000])
                )
            assert await client.outcome() == "GOAWAY ENHANCE_YOUR_CALM"
        await works(server)


async def test_a_small_block_that_unfolds_to_a_large_list(state_directory: Path) -> None:
    async with served(state_directory) as (server, _):
        async with client_of(server) as client:
            first = client.block([*REQUEST, ("x-bomb", "a" * 4000)])
            again = client.block([("x-bomb", "a" * 4000)] * 1000)
            assert len(again) < 2000
            await client.send(frame(HEADERS, END_HEADERS, 1, first), frame(HEADERS, END_HEADERS | 1, 3, again))
            assert await client.outcome() == "GOAWAY ENHANCE_YOUR_CALM"
        await works(server)


async def test_streams_that_are_reset_with_data_unread_leave_their_window_to_the_others(state_directory: Path) -> None:
    async with (
        served(state_directory, max_streams=2, accept_timeout=30) as (server, target),
        client_of(server) as client,
    ):
        for stream in range(1, 21, 2):
            # in all more than the window of the connection, which is that of two streams
            await client.send(client.request(stream))
            assert await client.status(stream) == 200
            await client.send(*[frame(DATA, 0, stream, bytes(16_000))] * 3)
            await client.send(frame(RST_STREAM, 0, stream, bytes(4)))
            assert await client.outcome() == "alive"
            await target.close_seen()
        await client.send(client.request(99))
        assert await client.status(99) == 200
        await client.send(*[frame(DATA, 0, 99, part) for part in cut(event(bytes(60_000)))])
        assert len(await client.data(99, 60_000)) >= 60_000


def cut(data: bytes) -> list[bytes]:
    return [data[at : at + 16_000] for at in range(0, len(data), 16_000)]


async def test_a_stream_over_the_limit_is_refused_and_those_before_it_go_on(state_directory: Path) -> None:
    async with served(state_directory, max_streams=2) as (server, _), client_of(server) as client:
        await client.send(client.request(1), client.request(3), client.request(5))
        refused: RstStreamFrame = await client.until(RstStreamFrame, 5)
        assert refused.error_code == 7
        await client.send(frame(DATA, 0, 3, event(b"still there")))
        got: DataFrame = await client.until(DataFrame, 3)
        assert b"still there" in got.data


def test_the_budget_is_spent_at_once_and_comes_back_with_time() -> None:
    calm = Calm(0.0)
    assert all(calm.spend(0.0) for _ in range(1000))
    assert not calm.spend(0.0)
    assert calm.spend(1.0)
    steady = Calm(0.0)
    assert all(steady.spend(number / 50) for number in range(10_000))
