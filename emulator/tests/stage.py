"""A client, the emulator and a container, connected over real sockets."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from websockets.http11 import Request
from websockets.server import ServerProtocol

from emulator import Endpoint, Server, Switches
from emulator.tests.client import RawClient
from emulator.tests.containers import Container, Handler, container, echo
from emulator.wire.eventstream import Message

UNSIGNED = Switches(signatures="off")


@dataclass
class Stage:
    """A client, the emulator and a container, connected."""

    client: RawClient
    server: Server
    container: Container

    async def open(self, **headers: str) -> int:
        stream = await self.client.open(headers=headers)
        assert await self.client.status(stream) == 200
        return stream


@contextlib.asynccontextmanager
async def stage(
    state: Path, handler: Handler = echo, switches: Switches = UNSIGNED, *, auto_credit: bool = True
) -> AsyncIterator[Stage]:
    async with (
        container(handler) as target,
        serving(target.url, state, switches) as server,
        client_of(server, auto_credit=auto_credit) as client,
    ):
        yield Stage(client, server, target)


def serving(url: str, state: Path, switches: Switches = UNSIGNED) -> Server:
    return Server({"ep": Endpoint(url)}, switches=switches, state_directory=state)


def client_of(server: Server, *, alpn: str = "h2", auto_credit: bool = True) -> RawClient:
    port = int(server.url.rsplit(":", 1)[1])
    return RawClient(port, server.certificates.ca, alpn=alpn, auto_credit=auto_credit)


def exception(message: Message | str) -> tuple[str | None, dict[str, str]]:
    assert isinstance(message, Message), message
    assert message.string(":message-type") == "exception"
    return message.string(":exception-type"), json.loads(message.payload)


async def upgraded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *frames: bytes) -> None:
    """Accept the WebSocket, then send frames as they are."""
    protocol = ServerProtocol()
    protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
    (request,) = protocol.events_received()
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    writer.writelines([*protocol.data_to_send(), *frames])
