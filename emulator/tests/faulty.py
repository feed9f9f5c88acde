"""A stage for tests of faults: a client that survives them, the emulator, and a container."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import override

from h2.events import DataReceived

from emulator import Emulator, Endpoint, Faults, Server, Switches
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.tests.containers import Container, Handler, container, echo
from emulator.trace import SessionTrace, TraceEntry
from emulator.wire.eventstream import Decoder
from emulator.wire.exceptions import ChecksumMismatchError

UNSIGNED = Switches(signatures="off")


class PatientClient(RawClient):
    """Says ``wrong CRC`` and ``TCP reset`` where its base breaks down."""

    @override
    def _take(self, received: DataReceived) -> None:
        stream = self._streams[received.stream_id or 0]
        try:
            super()._take(received)
        except ChecksumMismatchError:
            stream.messages.put_nowait("wrong CRC")
            stream.decoder = Decoder()

    @override
    async def _read(self) -> None:
        try:
            await super()._read()
        except OSError:
            self.closed.set()
            for stream in self._streams.values():
                stream.messages.put_nowait("TCP reset")


@dataclass
class Stage:
    """A client, the emulator with faults, and a container."""

    client: PatientClient
    server: Server
    container: Container
    entries: asyncio.Queue[TraceEntry] = field(default_factory=asyncio.Queue)

    async def open(self) -> int:
        stream = await self.client.open()
        assert await self.client.status(stream) == 200
        return stream

    async def rest(self, stream: int) -> list[str]:
        """What still comes: payloads, names of exceptions, and the end."""
        got: list[str] = []
        while True:
            message = await self.client.next(stream)
            if isinstance(message, str):
                got.append(message)
                if message != "wrong CRC":
                    return got
            else:
                got.append(message.string(":exception-type") or message.payload.decode())

    async def entry(self, kind: str, text: str) -> TraceEntry:
        """Wait for an entry of the wire log."""
        async with asyncio.timeout(5):
            while True:
                entry = await self.entries.get()
                if entry.kind == kind and entry.text.startswith(text):
                    return entry

    def noted(self, *faults: str) -> None:
        """Check that the wire log of the first session tells these faults, and no other."""
        notes = [entry.text for entry in self.server.data_plane.traces[0].entries if entry.kind == "note"]
        told = [note.removeprefix("fault: ").partition(":")[0] for note in notes if note.startswith("fault: ")]
        assert tuple(dict.fromkeys(told)) == faults


def client_of(server: Server | Emulator, ca: Path) -> PatientClient:
    return PatientClient(int(server.url.rsplit(":", 1)[1]), ca)


@contextlib.asynccontextmanager
async def stage(
    state: Path, faults: Faults, handler: Handler = echo, switches: Switches = UNSIGNED
) -> AsyncIterator[Stage]:
    """Set the stage; at the end, a fresh session without faults has to work."""
    entries = asyncio.Queue[TraceEntry]()

    def listen(_: SessionTrace, entry: TraceEntry) -> None:
        entries.put_nowait(entry)

    async with (
        container(handler) as target,
        Server(
            {"ep": Endpoint(target.url)}, switches=switches, state_directory=state, faults=faults, listener=listen
        ) as server,
    ):
        async with client_of(server, server.certificates.ca) as client:
            yield Stage(client, server, target, entries)
        server.faults.set(None)
        async with client_of(server, server.certificates.ca) as client:
            await works(client)


async def works(client: PatientClient) -> None:
    stream = await client.open()
    assert await client.status(stream) == 200
    await client.send(stream, event(b"fresh", "UTF8"))
    assert (await client.message(stream)).payload == b"fresh"
    await client.send(stream, END_OF_INPUT, end=True)
    assert await client.next(stream) == "END_STREAM"


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208  # a Path holds it open while it counts


async def closed(files: int) -> None:
    """Wait until no more than so many files are open."""
    async with asyncio.timeout(5):
        while descriptors() > files:  # noqa: ASYNC110  # nothing tells when a loop has closed a socket
            await asyncio.sleep(0.001)
