"""Good container that speaks no protocol at all: every message comes back once, as the type that it came in."""

from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from contract_tests.good.speech import STREAM_PATH, healthy


async def echo(ws: WebSocket) -> None:
    """Send every message back until the caller hangs up."""
    await ws.accept()
    while (message := await ws.receive())["type"] == "websocket.receive":
        text, data = message.get("text"), message.get("bytes")
        if text is not None:
            await ws.send_text(text)
        else:
            await ws.send_bytes(data or b"")


app = Starlette(routes=[Route("/ping", healthy, methods=["GET", "POST"]), WebSocketRoute(STREAM_PATH, echo)])
