"""Fault: nobody reads while it works. Seen in https://github.com/NousResearch/hermes-agent/pull/57373.

aiohttp answers a Ping when the handler next calls `receive()`. This one awaits the model in the loop that receives: the
event loop is free, `/ping` is fast, and the session looks dead.
"""

import asyncio

from contract_tests.good import protocol
from contract_tests.good.aiohttp_speech import AiohttpSession, serve, speech_server

LONG_TEXT = 80
WORK_S = 3.5


class DeafSession(AiohttpSession):
    """Session that receives and speaks in one coroutine."""

    async def run(self) -> None:
        """Answer one message, then receive the next one."""
        async for message in self.ws:
            payload = self.payload(message)
            if payload is not None and not await self.answer(payload):
                await self.ws.close(code=1000)

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Take a while for a long text, as a model on another machine does."""
        if len(request.text) > LONG_TEXT:
            await asyncio.sleep(WORK_S)
        return await super().synthesise(request)


if __name__ == "__main__":
    serve(speech_server(DeafSession))
