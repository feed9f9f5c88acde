"""An old program that has been taught to say nothing more."""

import asyncio
import json
import sys
from typing import Any

from aiohttp import WSMsgType, web

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum


class Room:
    def __init__(self) -> None:
        self.door = web.WebSocketResponse()
        self.quiet = False
        self.wishes: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def stay(self, request: web.Request) -> web.WebSocketResponse:
        await self.door.prepare(request)
        service = asyncio.create_task(self.service())
        try:
            async for knock in self.door:
                if knock.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    self.wishes.put_nowait(knock.data)
        finally:
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)
        return self.door

    async def service(self) -> None:
        while True:
            wish = await self.wishes.get()
            if not self.quiet:
                await self.answer(wish)

    async def answer(self, wish: str | bytes) -> None:
        try:
            order: Any = json.loads(wish)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            self.quiet = True
            return
        number = order.get("request_id", "none") if isinstance(order, dict) else "none"
        if (wrong := complaint(order)) is not None:
            await self.door.send_json({"type": "error", "request_id": number, "message": wrong})
            return
        await self.door.send_json({"type": "synthesis_start", "request_id": number})
        sound = (await asyncio.to_thread(hum, order["text"], order.get("voice", VOICES[0]))).tobytes()
        for at in range(0, len(sound), 4800):
            await self.door.send_bytes(sound[at : at + 4800])
        seconds = len(sound) / 2 / RATE
        await self.door.send_json({"type": "synthesis_complete", "request_id": number, "total_duration_s": seconds})


async def room(request: web.Request) -> web.WebSocketResponse:
    return await Room().stay(request)


async def lights(_: web.Request) -> web.Response:
    return web.Response(text="the lights are on")


if __name__ == "__main__":
    inn = web.Application()
    inn.router.add_route("*", "/ping", lights)
    inn.router.add_get("/invocations-bidirectional-stream", room)
    web.run_app(inn, host="127.0.0.1", port=int(sys.argv[1]), print=None, shutdown_timeout=1)
