"""Fault: the answer goes to whoever spoke last. Seen in https://github.com/scripting/betterWebSocketsDemo/issues/2.

The handler keeps "the connection" in a global, and what is ready after a while is sent there. With one caller at a
time, as in every test at a desk, that is the right one.
"""

import asyncio

from starlette.websockets import WebSocket, WebSocketDisconnect

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

_PACE = 0.1
"""Seconds of work for a second of audio."""
_current: list[WebSocket] = []


class CurrentSocketSession(Session):
    """Session that answers through the socket of the module."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; its socket is the current one now."""
        _current[:] = [self.ws]
        return await super().answer(payload)

    async def say(self, request: protocol.Say) -> None:
        """Speak the text as a whole, and send it when it is ready."""
        await self.control(protocol.started(request.request_id))
        pcm = await self.synthesise(request)
        duration = self.duration_s(pcm, request.rate)
        await asyncio.sleep(_PACE * duration)
        try:
            for frame in self.frames(pcm):
                await _current[0].send_bytes(frame)
            await _current[0].send_json(protocol.completed(request.request_id, duration))
        except (WebSocketDisconnect, RuntimeError):
            return  # whoever it was has left


app = speech_app(CurrentSocketSession)
