"""A good speech container without a model.

Every step is a method, so that a broken container can replace exactly one.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from contract_tests.good import protocol, tone
from contract_tests.good.invocations import FRAME_BYTES, invoke

STREAM_PATH = "/invocations-bidirectional-stream"

type Endpoint = Callable[[Request], Awaitable[Response]]


class Session:
    """One conversation on one socket: many requests, one after the other, until the caller closes."""

    def __init__(self, ws: WebSocket) -> None:
        self.ws = ws

    async def run(self) -> None:
        """Hold the conversation to its end; a caller who hangs up is no error."""
        await self.ws.accept()
        try:
            await self.converse()
        except WebSocketDisconnect:
            return

    async def converse(self) -> None:
        """Answer one message after the other."""
        while await self.answer(await self.receive()):
            pass

    async def receive(self) -> str | bytes:
        """Return the next message, whatever its frame type.

        hypercorn fills in both keys and sets the other one to None, uvicorn leaves it out; "" is a valid text.
        """
        message = await self.ws.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text: str | None = message.get("text")
        data: bytes | None = message.get("bytes")
        return text if text is not None else data or b""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; return whether the conversation goes on."""
        try:
            request = protocol.parse(payload)
        except protocol.MessageError as problem:
            await self.control(protocol.failed(problem))
            return True
        return await self.serve(request)

    async def serve(self, request: protocol.Say | protocol.Close) -> bool:
        """Do what a valid message asks for; return whether the conversation goes on."""
        if isinstance(request, protocol.Close):
            return await self.close()
        await self.say(request)
        return True

    async def say(self, request: protocol.Say) -> None:
        """Send start, audio and complete of one request."""
        await self.control(protocol.started(request.request_id))
        pcm = await self.synthesise(request)
        for frame in self.frames(pcm):
            await self.ws.send_bytes(frame)
            await asyncio.sleep(0)  # /ping and other sessions get their turn between two frames
        await self.control(protocol.completed(request.request_id, self.duration_s(pcm, request.rate)))

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return the whole PCM of one request."""
        return tone.pcm16(tone.waveform(request.text, request.voice, request.rate, request.speed))

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM into binary frames of whole samples."""
        return tone.cut(pcm, FRAME_BYTES)

    def duration_s(self, pcm: bytes, rate: int) -> float:
        """Return the duration to declare for `pcm`."""
        return len(pcm) / (2 * rate)

    async def control(self, event: protocol.Event) -> None:
        """Send one control event: a whole JSON object in one TEXT frame."""
        await self.ws.send_text(json.dumps(event))

    async def close(self) -> bool:
        """End the conversation in order, because the caller asked for it; return whether it goes on all the same."""
        await self.ws.close(1000)
        return False


async def healthy(_: Request) -> Response:
    """Answer a health check: 200, empty body."""
    return Response()


def speech_app(session: type[Session] = Session, ping: Endpoint = healthy, invoke: Endpoint = invoke) -> Starlette:
    """Return the container as an ASGI app: `/ping` (GET, HEAD, POST), `POST /invocations` and the stream."""

    async def stream(ws: WebSocket) -> None:
        await session(ws).run()

    return Starlette(
        routes=[
            Route("/ping", ping, methods=["GET", "POST"]),
            Route("/invocations", invoke, methods=["POST"]),
            WebSocketRoute(STREAM_PATH, stream),
        ]
    )
