"""Fault: a branch for text, none for the rest. Seen in https://github.com/kirodotdev/KiroCrew/issues/6222.

Like an aiohttp loop that knows only `WSMsgType.TEXT`: the binary frame that SageMaker sends by default is dropped
without a word, and the caller waits.
"""

from starlette.websockets import WebSocketDisconnect

from contract_tests.good.speech import Session, speech_app


class TextOnlyBranchSession(Session):
    """Session that drops binary frames silently."""

    async def converse(self) -> None:
        """Answer what has a text; nobody wrote the else."""
        while True:
            message = await self.ws.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            if message.get("text") and not await self.answer(message["text"]):
                return


app = speech_app(TextOnlyBranchSession)
