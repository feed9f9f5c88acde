"""Fault: parses outside the try. Seen in https://github.com/jenkinsci/resources-ai-chatbot-plugin/issues/257.

The branch for binary frames was added later and with care; in the first one `not json` raises out of the loop, and
one bad message of one client version ends a live conversation without a Close frame.
"""

import json

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class UnguardedJsonSession(Session):
    """Session that trusts its callers to send JSON."""

    async def converse(self) -> None:
        """Answer one message after the other; the line that can raise stands before the try."""
        while True:
            message = await self.ws.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            if text is None:
                if not await self.answer(message.get("bytes") or b""):
                    return
                continue
            document = json.loads(text or "{}")
            try:
                request = protocol.understand(document)
            except protocol.MessageError as problem:
                await self.control(protocol.failed(problem))
                continue
            if not await self.serve(request):
                return


app = speech_app(UnguardedJsonSession)
