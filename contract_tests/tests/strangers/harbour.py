"""Announcements of a ferry harbour."""

import asyncio
import contextlib
import json
import sys

from aiohttp import WSCloseCode, WSMsgType, web

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum, sentences

SLICE = RATE // 10 * 2
SESSIONS: set["Announcer"] = set()


class Health(web.View):
    async def get(self) -> web.Response:
        return web.Response(text="ok")

    post = get


class Announcer:
    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.inbox: asyncio.Queue[str | bytes] = asyncio.Queue(64)
        self.left = asyncio.Event()

    async def talk(self) -> None:
        reader, speaker = asyncio.create_task(self.read()), asyncio.create_task(self.speak())
        await asyncio.wait({reader, speaker}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reader, speaker):
            task.cancel()
        await asyncio.gather(reader, speaker, return_exceptions=True)
        await self.socket.close(code=WSCloseCode.OK)

    async def read(self) -> None:
        async for message in self.socket:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                await self.inbox.put(message.data)

    async def speak(self) -> None:
        while await self.take(await self.inbox.get()):
            pass

    async def take(self, raw: str | bytes) -> bool:
        try:
            order = json.loads(raw)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            return False
        number = order.get("request_id", "none") if isinstance(order, dict) else "none"
        wrong = complaint(order)
        if wrong is not None:
            await self.say("error", number, message=wrong)
            return True
        await self.say("synthesis_start", number)
        size = 0
        for sentence in sentences(order["text"]):
            sound = (await asyncio.to_thread(hum, sentence, order.get("voice", VOICES[0]))).tobytes()
            size += len(sound)
            for at in range(0, len(sound), SLICE):
                await self.socket.send_bytes(sound[at : at + SLICE])
        await self.say("synthesis_complete", number, total_duration_s=round(size / 2 / RATE, 3))
        return True

    async def say(self, kind: str, number: object, **more: object) -> None:
        await self.socket.send_json({"type": kind, "request_id": number, **more})


class Stream(web.View):
    async def get(self) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(self.request)
        announcer = Announcer(socket)
        SESSIONS.add(announcer)
        try:
            with contextlib.suppress(ConnectionError):
                await announcer.talk()
        finally:
            SESSIONS.discard(announcer)
        return socket


async def farewell(_: web.Application) -> None:
    await asyncio.gather(*(one.socket.close(code=WSCloseCode.GOING_AWAY) for one in list(SESSIONS)))


if __name__ == "__main__":
    port = web.Application()
    port.router.add_view("/ping", Health)
    port.router.add_view("/invocations-bidirectional-stream", Stream)
    port.on_shutdown.append(farewell)
    web.run_app(port, host="127.0.0.1", port=int(sys.argv[1]), print=None, shutdown_timeout=2)
