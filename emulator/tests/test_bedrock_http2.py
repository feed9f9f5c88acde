"""Bedrock Runtime over HTTP/2, as the JavaScript SDK asks for it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from emulator import Switches
from emulator.bedrock.script import Script, Turn
from emulator.server import Server
from emulator.tests.client import RawClient
from emulator.wire.eventstream import Message

HEAD = {":method": "POST", ":path": "/model/anthropic.claude/converse-stream", "content-type": "application/json"}
BODY = json.dumps({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}).encode()


@contextlib.asynccontextmanager
async def asked(turn: Turn, state: Path) -> AsyncIterator[tuple[RawClient, int]]:
    async with (
        asyncio.timeout(30),
        Server(switches=Switches(signatures="off"), state_directory=state, bedrock_script=Script((turn,))) as server,
        RawClient(urlsplit(server.url).port or 0, server.certificates.ca) as client,
    ):
        stream = await client.open("ep", HEAD)
        await client.send(stream, BODY, end=True)
        yield client, stream


async def test_a_stream_comes_whole(state_directory: Path) -> None:
    async with asked(Turn("One. Two.", first_token=0, tokens_per_second=0), state_directory) as (client, stream):
        assert await client.status(stream) == 200
        names = []
        while isinstance(message := await client.next(stream), Message):
            names.append(message.string(":event-type"))
    assert message == "END_STREAM"
    assert names == ["messageStart", *["contentBlockDelta"] * 2, "contentBlockStop", "messageStop", "metadata"]


async def test_a_cut_resets_the_stream(state_directory: Path) -> None:
    turn = Turn("One. Two.", first_token=0, tokens_per_second=0, fail="cut", fail_after=1)
    async with asked(turn, state_directory) as (client, stream):
        assert await client.status(stream) == 200
        while isinstance(message := await client.next(stream), Message):
            assert message.string(":event-type") != "messageStop"
    assert message.startswith("RST_STREAM")
