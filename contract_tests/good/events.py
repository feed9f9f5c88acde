"""A conversation in JSON events, for stand-ins of other protocols: one `handle` for each message."""

import json
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from contract_tests.good.speech import STREAM_PATH, healthy

type Event = dict[str, Any]


class Conversation:
    """One session. Subclasses say how to greet, and how events and audio are answered."""

    def __init__(self, ws: WebSocket) -> None:
        self.ws = ws

    async def run(self) -> None:
        """Take one message after the other, until the caller closes or leaves."""
        await self.ws.accept()
        try:
            await self.greet()
            while (message := await self.ws.receive())["type"] == "websocket.receive":
                text = message.get("text")
                if not await self.take(text if text is not None else message.get("bytes") or b""):
                    await self.ws.close(1000)
                    return
        except WebSocketDisconnect:
            return

    async def greet(self) -> None:
        """Say something first, where the protocol wants it."""

    async def take(self, payload: str | bytes) -> bool:
        """Answer one message; return whether the conversation goes on."""
        try:
            event = json.loads(payload)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            await self.refuse("not a JSON object")
            return True
        return await self.handle(event)

    async def handle(self, event: Event) -> bool:
        """Answer one event; return whether the conversation goes on."""
        await self.refuse(f"unknown type {event.get('type')!r}")
        return True

    async def refuse(self, why: str) -> None:
        """Answer a message that cannot be served."""
        await self.send({"type": "Error", "description": why})

    async def send(self, event: Event) -> None:
        """Send one event in a TEXT frame."""
        await self.ws.send_text(json.dumps(event))


def events_app(conversation: Callable[[WebSocket], Conversation]) -> Starlette:
    """Return the container as an ASGI app."""

    async def stream(ws: WebSocket) -> None:
        await conversation(ws).run()

    routes: list[Any] = [
        Route("/ping", healthy, methods=["GET", "POST"]),
        WebSocketRoute(STREAM_PATH, stream),
    ]
    return Starlette(routes=routes)
