"""A good container whose requests can be stopped: one task reads, another one speaks, in order.

The acknowledgement comes after the last frame of the request that was stopped, and nothing of it comes later.
"""

import asyncio
import json
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocketDisconnect

from contract_tests.good import protocol
from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app


class CancellingSession(PacedSession):
    """Session that goes on reading while it speaks."""

    async def converse(self) -> None:
        """Read to the end, whatever is being spoken; what is asked for is spoken one after the other."""
        self.waiting: asyncio.Queue[protocol.Say] = asyncio.Queue()
        self.spoken: protocol.Say | None = None
        self.speaking: asyncio.Task[None] | None = None
        speaker = asyncio.create_task(self.speak_in_order())
        try:
            await super().converse()
        finally:
            speaker.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect):
                await speaker

    async def speak_in_order(self) -> None:
        """Speak what was asked for; a request that is stopped ends, the others go on."""
        while True:
            self.spoken = await self.waiting.get()
            self.speaking = asyncio.create_task(self.say(self.spoken))
            try:
                await asyncio.wait([self.speaking])
                if not self.speaking.cancelled() and self.speaking.exception() is not None:
                    return
            finally:
                self.speaking.cancel()
                await asyncio.wait([self.speaking])
                self.spoken = None
                self.waiting.task_done()

    async def answer(self, payload: str | bytes) -> bool:
        """Take a cancel message out; everything else is as usual."""
        with suppress(ValueError):
            document = json.loads(payload)
            if isinstance(document, dict) and document.get("type") == "cancel":
                await self.cancel(document.get("request_id"))
                return True
        return await super().answer(payload)

    async def serve(self, request: protocol.Say | protocol.Close) -> bool:
        """Put a request into the queue; close when the queue has been spoken."""
        if isinstance(request, protocol.Close):
            await self.waiting.join()
            return await self.close()
        self.waiting.put_nowait(request)
        return True

    async def cancel(self, request_id: Any) -> None:
        """Stop the request if it is being spoken, and acknowledge; one that has ended needs no more than that."""
        if self.speaking is not None and self.spoken is not None and self.spoken.request_id == request_id:
            self.speaking.cancel()
            await asyncio.wait([self.speaking])
        await self.acknowledge(request_id)

    async def acknowledge(self, request_id: Any) -> None:
        """Say that no more comes of a request."""
        await self.control({"type": "synthesis_cancelled", "request_id": request_id})


app = speech_app(CancellingSession)
