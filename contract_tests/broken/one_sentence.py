"""Fault: one request per connection. Seen in https://github.com/vllm-project/vllm-omni/pull/5517.

Written like an HTTP handler: read, speak, done. The second sentence of the conversation meets a closed socket.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class OneSentenceSession(Session):
    """Session that ends after its first utterance."""

    async def say(self, request: protocol.Say) -> None:
        """Speak, then close in order although nobody asked for it."""
        await super().say(request)
        await self.close()

    async def serve(self, request: protocol.Say | protocol.Close) -> bool:
        """Do what the message asks for and leave the loop."""
        await super().serve(request)
        return False


app = speech_app(OneSentenceSession)
