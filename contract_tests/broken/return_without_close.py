"""Fault: leaves without closing. Seen in https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents.

The handler returns and trusts the server with the rest. What that does differs: EOF without a Close frame under uvicorn
0.54, a socket left open under 0.30, Close 1000 elsewhere. SageMaker has no code and no reason to hand on to the caller.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class ReturnWithoutCloseSession(Session):
    """Session that hopes that somebody else says goodbye."""

    async def converse(self) -> None:
        """Answer one message after the other; a close message ends the loop and nothing else."""
        while True:
            message = await self.ws.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            try:
                request = protocol.parse(text if text is not None else message.get("bytes") or b"")
            except protocol.MessageError as problem:
                await self.control(protocol.failed(problem))
                continue
            if isinstance(request, protocol.Close):
                return
            await self.say(request)


app = speech_app(ReturnWithoutCloseSession)
