"""The client: however a session goes, it is an outcome. Real SDK, real emulator, a small container that obeys."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from contract_tests.client import Client, Ended, Failed, Part, Session, Silence
from contract_tests.runner import emulated
from emulator import Emulator
from emulator.launch import launched
from emulator.target import Target

OBEDIENT = """
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

async def ping(_):
    return Response()

async def stream(ws):
    await ws.accept()
    while True:
        message = await ws.receive()
        text = message.get("text")
        if message["type"] == "websocket.disconnect":
            return
        if text == "crash":
            raise RuntimeError("boom")
        if text and text.startswith("close "):
            return await ws.close(int(text.split()[1]), "as asked")
        if text is None:
            await ws.send_bytes(message["bytes"])
        elif text != "hush":
            await ws.send_text(text)

app = Starlette(routes=[Route("/ping", ping), WebSocketRoute("/invocations-bidirectional-stream", stream)])
"""


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    folder = tmp_path_factory.mktemp("container")
    (folder / "obedient.py").write_text(OBEDIENT, "utf-8")
    with launched(Target("app", "obedient:app"), 30, folder) as url, emulated({"obedient": url}) as running:
        yield running


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[Session]:
    async with Client.connect(emulator.url) as client:
        session = await client.open("obedient")
        yield session
        await session.close()


async def test_a_part_keeps_its_type(session: Session) -> None:
    await session.send(b"a", "UTF8")
    await session.send(b"\x00\xff")
    first, second = await session.receive(5), await session.receive(5)
    assert isinstance(first, Part)
    assert isinstance(second, Part)
    assert [(part.data, part.data_type) for part in (first, second)] == [(b"a", "UTF8"), (b"\x00\xff", "BINARY")]


async def test_silence_costs_nothing(session: Session) -> None:
    await session.send(b"hush", "UTF8")
    assert await session.receive(0.2) == Silence(0.2)
    await session.send(b"still there", "UTF8")
    assert isinstance(await session.receive(5), Part)


async def test_close_1000_is_an_end(session: Session) -> None:
    await session.send(b"close 1000", "UTF8")
    assert isinstance(await session.receive(5), Ended)
    assert isinstance(await session.receive(5), Ended)
    await session.send(b"too late", "UTF8")


@pytest.mark.parametrize(("order", "code"), [(b"close 4001", "4001"), (b"crash", "1006")])
async def test_other_ends_are_failures_with_a_code(session: Session, order: bytes, code: str) -> None:
    await session.send(order, "UTF8")
    outcome = await session.receive(5)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.code) == ("ModelStreamError", code)
    assert outcome.without_close_frame == (code == "1006")
    assert isinstance(session.over, Failed)


async def test_the_client_may_end_first(session: Session) -> None:
    await session.end_input()
    assert isinstance(await session.receive(5), Ended)


async def test_a_refused_upgrade_is_a_failure(emulator: Emulator) -> None:
    async with Client.connect(emulator.url) as client:
        session = await client.open("obedient", "no/such/path")
        outcome = await session.receive(5)
        await session.close()
    assert isinstance(outcome, Failed)
    assert outcome.kind == "ModelError"
    assert "424" in str(outcome)


async def test_sessions_go_side_by_side(emulator: Emulator) -> None:
    async with Client.connect(emulator.url) as client:
        sessions = [await client.open("obedient") for _ in range(5)]
        for number, session in enumerate(sessions):
            await session.send(str(number).encode(), "UTF8")
        parts = await asyncio.gather(*(session.receive(5) for session in sessions))
        for session in sessions:
            await session.close()
    assert [part.data for part in parts if isinstance(part, Part)] == [b"0", b"1", b"2", b"3", b"4"]
