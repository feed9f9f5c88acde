"""The speech container of the agent's benchmark: the Kokoro protocol, silence, the same time for the same text.

A text takes 50 ms and 0.03 times the duration of its audio, which is 1/15 s for each character (environment:
``SPEECH_BASE_S``, ``SPEECH_RTF``, ``SPEECH_CHARACTERS_PER_S``). Texts are spoken one after the other.
"""

import asyncio
import json
import os
from typing import Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from emulator import facts

RATE = 24_000
BASE_S = float(os.environ.get("SPEECH_BASE_S", "0.05"))
FACTOR = float(os.environ.get("SPEECH_RTF", "0.03"))
CHARACTERS_PER_S = float(os.environ.get("SPEECH_CHARACTERS_PER_S", "15"))
_FRAME = 9600  # bytes: 0.2 s


async def _speak(websocket: WebSocket, request: dict[str, Any]) -> None:
    text, name = str(request.get("text", "")), request.get("request_id", "unknown")
    seconds = len(text) / CHARACTERS_PER_S
    await asyncio.sleep(BASE_S + FACTOR * seconds)
    await websocket.send_text(json.dumps({"type": "synthesis_start", "request_id": name}))
    pcm = bytes(2 * int(seconds * RATE))
    for at in range(0, len(pcm), _FRAME):
        await websocket.send_bytes(pcm[at : at + _FRAME])
    end = {"type": "synthesis_complete", "request_id": name, "total_duration_s": round(len(pcm) / 2 / RATE, 4)}
    await websocket.send_text(json.dumps(end))


async def _session(websocket: WebSocket) -> None:
    await websocket.accept()
    waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def work() -> None:
        while (request := await waiting.get()).get("type") != "close":
            await _speak(websocket, request)
        await websocket.close(1000)

    working = asyncio.ensure_future(work())
    try:
        while True:  # read on while a text is spoken
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            waiting.put_nowait(json.loads(message.get("text") or message.get("bytes") or "{}"))
    except (WebSocketDisconnect, RuntimeError):
        return
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _ping(_: object) -> PlainTextResponse:
    return PlainTextResponse("")


app = Starlette(routes=[WebSocketRoute(facts.text("ctr.path-default"), _session), Route("/ping", _ping)])
