"""A conversation over AgentCore's WebSocket: prompts in, events as JSON and audio as raw PCM out. No base64.

A text frame of the client is one JSON object: a prompt like that of an invocation, {"type": "cancel"} to stop what is
being spoken, or {"type": "close"}: what is being spoken is spoken to its end, and until then only `cancel` is heeded. A
prompt that comes while another one is answered stops that one first. A binary frame with such an object is as good.

The text frames of the server are the events of the turns, without `audio_chunk`: a binary frame is audio of the first
sentence that has no `sentence_end` yet.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from container.agent.request import InvalidRequestError, Request, parse
from container.agent.timeline import Timeline, frame

if TYPE_CHECKING:
    from container.agent.turn import Turn

__all__ = ["Conversation"]


class Start(Protocol):
    """Starts a turn. Raises InvalidRequestError."""

    def __call__(self, request: Request, *, timeline: Timeline) -> "tuple[Turn, asyncio.Task[None]]":
        """Return the turn and the task that runs it."""


class Conversation:
    """Serves one WebSocket."""

    def __init__(self, socket: WebSocket, start: Start) -> None:
        self._socket = socket
        self._start = start
        self._turn: Turn | None = None
        self._running: asyncio.Task[None] | None = None
        """The task that runs the turn, and the one that sends what it tells."""
        self._speaking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Accept, and serve until the client closes or is gone."""
        await self._socket.accept()
        try:
            while (message := await self._receive()) is not None:
                if message.get("type") == "close":
                    if await self._finish():
                        await self._socket.close(1000)
                    return
                await self._take(message)
        except WebSocketDisconnect:
            pass
        finally:
            if self._speaking is not None:
                self._speaking.cancel()
            if self._running is not None:
                self._running.cancel()  # the other one may not even have begun
            await self._settled()

    async def _receive(self) -> dict[str, Any] | None:
        """Return the next JSON object, from whatever kind of frame; None when the client is gone."""
        while (message := await self._socket.receive())["type"] == "websocket.receive":
            text = message.get("text")
            try:
                value = json.loads(text if text is not None else message.get("bytes") or b"")
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                return value
            await self._refuse(
                "invalid_request", "the message is not a JSON object; expected one with the field 'prompt'"
            )
        return None

    async def _take(self, message: dict[str, Any]) -> None:
        if message.get("type") == "cancel":
            self._interrupt()
            return
        try:
            request = parse(message)  # what is no prompt stops nobody who is speaking
            self._interrupt()
            await self._settled()
            self._turn, self._running = self._start(request, timeline=Timeline())
        except InvalidRequestError as error:
            await self._refuse(error.code, str(error))
            return
        self._speaking = asyncio.create_task(self._speak(self._turn, self._running), name="turn-socket")

    def _interrupt(self) -> None:
        if self._turn is not None:
            self._turn.interrupt()

    async def _speak(self, turn: "Turn", task: "asyncio.Task[None]") -> None:
        finished = False
        try:
            async for event in turn.events():
                await self._send(frame(event))
            finished = True
        finally:
            self._turn = None
            if not finished:
                task.cancel()

    async def _finish(self) -> bool:
        """Let what is being spoken be spoken, unless it is cancelled. Return whether the client is still there."""
        listening = asyncio.create_task(self._heed(), name="turn-close")
        try:
            await self._settled()
            return not listening.done()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _heed(self) -> None:
        """Heed nothing but `cancel`, until the client is gone."""
        try:
            while (message := await self._receive()) is not None:
                if message.get("type") == "cancel":
                    self._interrupt()
        finally:
            if self._speaking is not None:  # unless it is at its end already
                self._speaking.cancel()

    async def _settled(self) -> None:
        """Wait for the end of the turn that is running."""
        if self._speaking is not None:
            await asyncio.gather(self._speaking, return_exceptions=True)

    async def _refuse(self, code: str, message: str) -> None:
        await self._send(frame(Timeline().error(code, message)))

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)
        else:
            await self._socket.send_text(message)
