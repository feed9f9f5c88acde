"""The good speech container on aiohttp: one task reads, another one speaks, so that Pings are answered at work.

Run as `python -m contract_tests.good.aiohttp_speech PORT`. Each step is a method, for broken ones to replace.
"""

import asyncio
import json
import sys
from contextlib import suppress

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from contract_tests.good import protocol, tone
from contract_tests.good.invocations import FRAME_BYTES
from contract_tests.good.speech import STREAM_PATH


class AiohttpSession:
    """One conversation on one socket."""

    def __init__(self, ws: web.WebSocketResponse) -> None:
        self.ws = ws
        self.requests: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def run(self) -> None:
        """Read until the caller leaves or asks for the end; the speaker does the rest."""
        speaker = asyncio.create_task(self.speak())
        reader = asyncio.create_task(self.read())
        await asyncio.wait([speaker, reader], return_when=asyncio.FIRST_COMPLETED)
        for task in (speaker, reader):
            task.cancel()
        await asyncio.gather(speaker, reader, return_exceptions=True)

    async def read(self) -> None:
        """Queue what comes, whatever its type."""
        async for message in self.ws:
            payload = self.payload(message)
            if payload is not None:
                await self.requests.put(payload)

    def payload(self, message: WSMessage) -> str | bytes | None:
        """Return what a message holds; None for one that is none."""
        return message.data if message.type in {WSMsgType.TEXT, WSMsgType.BINARY} else None

    async def speak(self) -> None:
        """Answer one request after the other, until one asks for the end."""
        with suppress(ConnectionError):  # the caller has left
            while await self.answer(await self.requests.get()):
                pass
            await self.ws.close(code=1000)

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; return whether the conversation goes on."""
        try:
            request = protocol.parse(payload)
        except protocol.MessageError as problem:
            await self.ws.send_str(json.dumps(protocol.failed(problem)))
            return True
        if isinstance(request, protocol.Close):
            return False
        await self.say(request)
        return True

    async def say(self, request: protocol.Say) -> None:
        """Send start, audio and complete of one request."""
        await self.ws.send_str(json.dumps(protocol.started(request.request_id)))
        pcm = await self.synthesise(request)
        for frame in tone.cut(pcm, FRAME_BYTES):
            await self.ws.send_bytes(frame)
            await asyncio.sleep(0)
        seconds = len(pcm) / (2 * request.rate)
        await self.ws.send_str(json.dumps(protocol.completed(request.request_id, seconds)))

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return the whole PCM of one request."""
        return tone.pcm16(tone.waveform(request.text, request.voice, request.rate, request.speed))


def speech_server(session: type[AiohttpSession] = AiohttpSession, *, says_goodbye: bool = True) -> web.Application:
    """Return the container as an aiohttp application."""
    sessions: set[web.WebSocketResponse] = set()

    async def ping(_: web.Request) -> web.Response:
        return web.Response()

    async def stream(request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse(max_msg_size=1 << 24)
        await ws.prepare(request)
        sessions.add(ws)
        try:
            await session(ws).run()
        finally:
            sessions.discard(ws)
        return ws

    async def goodbye(_: web.Application) -> None:
        # aiohttp would wait a minute for the open sessions
        for ws in set(sessions):
            await ws.close(code=WSCloseCode.GOING_AWAY, message=b"the server stops")

    app = web.Application()
    app.add_routes([web.get("/ping", ping), web.post("/ping", ping), web.get(STREAM_PATH, stream)])
    if says_goodbye:
        app.on_shutdown.append(goodbye)
    return app


def serve(app: web.Application) -> None:
    """Serve on 127.0.0.1, at the port that the command line names, until SIGTERM."""
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)


if __name__ == "__main__":
    serve(speech_server())
