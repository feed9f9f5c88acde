"""A radio station with one playout list."""

import asyncio
import json
import sys

from aiohttp import web

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum


class Station:
    def __init__(self) -> None:
        self.playout: asyncio.Queue[bytes | dict[str, object]] = asyncio.Queue()

    async def tune_in(self, request: web.Request) -> web.WebSocketResponse:
        receiver = web.WebSocketResponse()
        await receiver.prepare(request)
        transmitter = asyncio.create_task(self.transmit(receiver))
        try:
            async for message in receiver:
                if not await self.desk(message.data):
                    await receiver.close()
        finally:
            transmitter.cancel()
            await asyncio.gather(transmitter, return_exceptions=True)
        return receiver

    async def transmit(self, receiver: web.WebSocketResponse) -> None:
        while True:
            piece = await self.playout.get()
            if isinstance(piece, bytes):
                await receiver.send_bytes(piece)
                await asyncio.sleep(0.002)
            else:
                await receiver.send_json(piece)

    async def desk(self, raw: str | bytes) -> bool:
        try:
            order = json.loads(raw)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            while not self.playout.empty():  # noqa: ASYNC110 - as people write it
                await asyncio.sleep(0.01)
            return False
        show = order.get("request_id", "none") if isinstance(order, dict) else "none"
        if (wrong := complaint(order)) is not None:
            self.playout.put_nowait({"type": "error", "request_id": show, "message": wrong})
            return True
        self.playout.put_nowait({"type": "synthesis_start", "request_id": show})
        tape = (await asyncio.to_thread(hum, order["text"], order.get("voice", VOICES[0]))).tobytes()
        for at in range(0, len(tape), 4800):
            self.playout.put_nowait(tape[at : at + 4800])
        end = {"type": "synthesis_complete", "request_id": show, "total_duration_s": len(tape) / 2 / RATE}
        self.playout.put_nowait(end)
        return True


async def on_air(_: web.Request) -> web.Response:
    return web.Response(text="on air")


if __name__ == "__main__":
    app = web.Application()
    station = Station()
    app.add_routes(
        [
            web.get("/ping", on_air),
            web.post("/ping", on_air),
            web.get("/invocations-bidirectional-stream", station.tune_in),
        ]
    )
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, shutdown_timeout=1)
