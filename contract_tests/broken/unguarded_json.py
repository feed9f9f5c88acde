"""Fault: parses outside the try. Seen in https://github.com/jenkinsci/resources-ai-chatbot-plugin/issues/257.

The branch for binary frames was added later and with care; in the first one `not json` raises out of the handler, and
one bad message of one client version ends a live conversation without a Close frame.
"""

import json

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class UnguardedJsonSession(Session):
    """Session that trusts its callers to send JSON."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; the line that can raise stands before the try."""
        if isinstance(payload, bytes):
            return await super().answer(payload)
        document = json.loads(payload or "{}")
        try:
            request = protocol.understand(document)
        except protocol.MessageError as problem:
            await self.control(protocol.failed(problem))
            return True
        return await self.serve(request)


app = speech_app(UnguardedJsonSession)
