"""A telegraph office: the operator looks at the wire when the telegram is done."""

import asyncio
import json
import sys
import time
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum


class Office(asyncio.Protocol):
    def __init__(self) -> None:
        self.wire = ServerProtocol()
        self.paper = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.wire.receive_data(data)
        for event in self.wire.events_received():
            if isinstance(event, Request):
                self.door(event)
            elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self.paper += bytes(event.data)
                if event.fin:
                    paper, self.paper = self.paper, b""
                    self.telegram(paper)
        self.pass_on()
        if self.wire.close_expected():
            self.transport.close()

    def eof_received(self) -> None:
        self.wire.receive_eof()
        self.pass_on()

    def door(self, request: Request) -> None:
        known = request.path.startswith("/invocations-bidirectional-stream")
        answer = self.wire.accept(request) if known else self.wire.reject(200 if request.path == "/ping" else 404, "")
        self.wire.send_response(answer)

    def telegram(self, paper: bytes) -> None:
        try:
            order: Any = json.loads(paper)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            self.wire.send_close(1000)
            return
        number = order.get("request_id", "none") if isinstance(order, dict) else "none"
        if (wrong := complaint(order)) is not None:
            self.event(type="error", request_id=number, message=wrong)
            return
        self.event(type="synthesis_start", request_id=number)
        self.pass_on()
        sound = hum(order["text"], order.get("voice", VOICES[0])).tobytes()
        for at in range(0, len(sound), 4800):
            time.sleep(0.03)
            self.wire.send_binary(sound[at : at + 4800])
            self.pass_on()
        self.event(type="synthesis_complete", request_id=number, total_duration_s=len(sound) / 2 / RATE)

    def event(self, **members: object) -> None:
        self.wire.send_text(json.dumps(members).encode())

    def pass_on(self) -> None:
        for data in self.wire.data_to_send():
            if data:
                self.transport.write(data)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Office, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
