"""Asyncio streams, and a WebSocket protocol without I/O."""

import asyncio
import json
import signal
import sys
from collections import deque
from contextlib import suppress
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum, sentences

PAGE = 4800
OPEN: "set[Sheet]" = set()


class Sheet:
    """One connection from its first byte to its last."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.wire = ServerProtocol(max_size=1 << 20)
        self.pieces: list[bytes] = []
        self.jobs: deque[bytes] = deque()
        self.more = asyncio.Event()

    async def run(self) -> None:
        OPEN.add(self)
        typing = asyncio.create_task(self.type())
        try:
            while data := await self.reader.read(65536):
                self.wire.receive_data(data)
                for event in self.wire.events_received():
                    self.happened(event)
                await self.flush()
                if self.wire.close_expected():
                    break
        except ConnectionError:
            return
        finally:
            typing.cancel()
            await asyncio.gather(typing, return_exceptions=True)
            self.writer.close()
            with suppress(ConnectionError):
                await self.writer.wait_closed()
            OPEN.discard(self)

    def happened(self, event: Any) -> None:
        if isinstance(event, Request):
            self.knock(event)
        elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self.pieces.append(bytes(event.data))
            if event.fin:
                self.jobs.append(b"".join(self.pieces))
                self.pieces.clear()
                self.more.set()

    def knock(self, request: Request) -> None:
        path = request.path.partition("?")[0]
        if path == "/ping":
            self.wire.send_response(self.wire.reject(200, "ok"))
        elif path != "/invocations-bidirectional-stream":
            self.wire.send_response(self.wire.reject(404, "no such door"))
        else:
            self.wire.send_response(self.wire.accept(request))

    async def flush(self) -> None:
        for data in self.wire.data_to_send():
            if data:
                self.writer.write(data)
            elif self.writer.can_write_eof():
                self.writer.write_eof()
        await self.writer.drain()

    async def type(self) -> None:
        while True:
            while self.jobs:
                if not await self.job(self.jobs.popleft()):
                    return
            self.more.clear()
            await self.more.wait()

    async def job(self, raw: bytes) -> bool:
        try:
            order = json.loads(raw)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            self.wire.send_close(1000)
            await self.flush()
            return False
        number = order.get("request_id", "none") if isinstance(order, dict) else "none"
        if (wrong := complaint(order)) is not None:
            await self.event(type="error", request_id=number, message=wrong)
            return True
        await self.event(type="synthesis_start", request_id=number)
        used = 0
        for sentence in sentences(order["text"]):
            ink = (await asyncio.to_thread(hum, sentence, order.get("voice", VOICES[0]))).tobytes()
            used += len(ink)
            for at in range(0, len(ink), PAGE):
                if self.wire.state is not State.OPEN:
                    return False
                self.wire.send_binary(ink[at : at + PAGE])
                await self.flush()
        await self.event(type="synthesis_complete", request_id=number, total_duration_s=used / 2 / RATE)
        return True

    async def event(self, **members: object) -> None:
        if self.wire.state is State.OPEN:
            self.wire.send_text(json.dumps(members).encode())
            await self.flush()

    async def leave(self) -> None:
        if self.wire.state is State.OPEN:
            self.wire.send_close(1001)
            await self.flush()


async def main() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with await asyncio.start_server(lambda *ends: Sheet(*ends).run(), "127.0.0.1", int(sys.argv[1])) as server:
        await stop.wait()
        server.close()
        for sheet in list(OPEN):
            await sheet.leave()
        async with asyncio.timeout(2):
            while OPEN:  # noqa: ASYNC110 - as people write it
                await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main())
