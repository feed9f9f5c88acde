"""A telephone menu, with the class-based endpoints of Starlette."""

import asyncio
import json
import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint, WebSocketEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum


class Alive(HTTPEndpoint):
    async def get(self, _: Request) -> PlainTextResponse:
        return PlainTextResponse("alive")

    post = get


class Menu(WebSocketEndpoint):
    encoding = "text"

    async def on_receive(self, websocket: WebSocket, data: Any) -> None:
        try:
            order = json.loads(data)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            await websocket.close(1000)
            return
        call = order.get("request_id", "none") if isinstance(order, dict) else "none"
        wrong = complaint(order)
        if wrong is not None:
            await websocket.send_json({"type": "error", "request_id": call, "message": wrong})
            return
        await websocket.send_json({"type": "synthesis_start", "request_id": call})
        sound = (await asyncio.to_thread(hum, order["text"], order.get("voice", VOICES[0]))).tobytes()
        for at in range(0, len(sound), 4800):
            await websocket.send_bytes(sound[at : at + 4800])
            await asyncio.sleep(0)
        seconds = len(sound) / 2 / RATE
        await websocket.send_json({"type": "synthesis_complete", "request_id": call, "total_duration_s": seconds})


switchboard = Starlette(routes=[Route("/ping", Alive), WebSocketRoute("/invocations-bidirectional-stream", Menu)])

if __name__ == "__main__":
    uvicorn.run(switchboard, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", timeout_graceful_shutdown=2)
