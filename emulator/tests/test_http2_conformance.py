"""What RFC 9113 says about clients, case by case (:mod:`emulator.tests.http2_cases`, `http2_taken`)."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hyperframe.frame import SettingsFrame

from emulator import Endpoint, Server, Switches
from emulator.tests.client import event
from emulator.tests.containers import Container, container
from emulator.tests.frames_client import PREFACE, FramesClient, frame
from emulator.tests.http2_cases import CONNECTION, DATA, STREAM
from emulator.tests.http2_taken import NO_ERROR


@contextlib.asynccontextmanager
async def served(state: Path, **switches: float) -> AsyncIterator[tuple[Server, Container]]:
    async with container() as target:
        given = Switches(signatures="off", window=65_535, **switches)  # type: ignore[arg-type]  # numbers only
        async with Server({"ep": Endpoint(target.url)}, switches=given, state_directory=state) as server:
            yield server, target


def client_of(server: Server, *, greet: bool = True) -> FramesClient:
    return FramesClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca, greet=greet)


async def works(server: Server) -> None:
    """Hold a session on a new connection."""
    async with client_of(server) as client:
        await client.send(client.request())
        assert await client.status() == 200
        await client.send(frame(DATA, 0, 1, event(b"still there")))
        assert b"still there" in await client.data(1, 30)


@pytest.mark.parametrize("name", CONNECTION)
async def test_an_error_that_ends_the_connection(state_directory: Path, name: str) -> None:
    case, code = CONNECTION[name]
    async with served(state_directory) as (server, target):
        async with client_of(server) as client:
            await case(client)
            assert await client.outcome() == f"GOAWAY {code}"
        for _ in range(len(target.requests)):
            await target.close_seen()  # no session outlives its connection
        await works(server)


@pytest.mark.parametrize("name", STREAM)
async def test_an_error_that_ends_a_stream_alone(state_directory: Path, name: str) -> None:
    case, code = STREAM[name]
    async with served(state_directory) as (server, _), client_of(server) as client:
        await case(client)
        assert await client.outcome() == f"RST_STREAM 1 {code}"
        await client.send(client.request(9))
        assert await client.status(9) == 200
        await client.send(frame(DATA, 0, 9, event(b"the others go on")))
        assert b"the others go on" in await client.data(9, 30)


@pytest.mark.parametrize("name", NO_ERROR)
async def test_what_a_server_must_take(state_directory: Path, name: str) -> None:
    async with served(state_directory) as (server, _), client_of(server) as client:
        await NO_ERROR[name](client)
        assert await client.outcome() == "alive"


@pytest.mark.parametrize("preface", [b"GET / HTTP/1.1\r\n\r\nhost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"])
async def test_a_wrong_preface_ends_the_connection(state_directory: Path, preface: bytes) -> None:
    async with served(state_directory) as (server, _):
        async with client_of(server, greet=False) as client:
            await client.send(preface)
            assert await client.outcome() in ("GOAWAY PROTOCOL_ERROR", "closed")
        await works(server)


async def test_a_preface_without_settings_ends_the_connection(state_directory: Path) -> None:
    async with served(state_directory) as (server, _), client_of(server, greet=False) as client:
        await client.send(PREFACE, client.request())
        assert await client.outcome() == "GOAWAY PROTOCOL_ERROR"


async def test_settings_are_acknowledged_and_the_limits_are_told(state_directory: Path) -> None:
    async with served(state_directory) as (server, _), client_of(server) as client:
        assert not (await client.until(SettingsFrame)).flags
        while "ACK" not in (await client.until(SettingsFrame)).flags:
            pass
        assert client.settings[SettingsFrame.MAX_CONCURRENT_STREAMS] == 100
        assert client.settings[SettingsFrame.INITIAL_WINDOW_SIZE] == 65_535
        assert client.settings[SettingsFrame.MAX_HEADER_LIST_SIZE] == 65_536
        assert client.settings.get(SettingsFrame.ENABLE_PUSH, 0) == 0
