"""Fault: nobody reads while it works. Seen in https://github.com/aio-libs/aiohttp/pull/10544.

An aiohttp handler that awaits the model in the coroutine that also receives answers no Ping meanwhile, although the
event loop is free and `/ping` is fast. uvicorn answers Pings by itself, so here the session stops its transport.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

LONG_TEXT = 80
WORK_S = 3.5


class BlockedPongSession(Session):
    """Session that needs a while for a long text, and is deaf until it is done."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Work without reading."""
        if len(request.text) > LONG_TEXT:
            transport = self.ws.scope["extensions"]["transport"]
            transport.pause_reading()
            try:
                await asyncio.sleep(WORK_S)
            finally:
                transport.resume_reading()
        return await super().synthesise(request)


speech = speech_app(BlockedPongSession)


async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """Hand uvicorn's transport to the session: `receive` is a method of the protocol that owns it."""
    if scope["type"] == "websocket":
        scope["extensions"] = {**scope.get("extensions", {}), "transport": receive.__self__.transport}
    await speech(scope, receive, send)
