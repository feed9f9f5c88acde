"""The echo container of the benchmark: every message goes back as it came."""

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from emulator import facts


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    while (message := await websocket.receive())["type"] != "websocket.disconnect":
        if message.get("text") is not None:
            await websocket.send_text(message["text"])
        else:
            await websocket.send_bytes(message["bytes"])


async def _ping(_: object) -> PlainTextResponse:
    return PlainTextResponse("")


app = Starlette(routes=[WebSocketRoute(facts.text("ctr.path-default"), _echo), Route(facts.text("life.ping"), _ping)])
