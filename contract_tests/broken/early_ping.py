"""Fault: /ping is 200 while the model loads. Seen in https://github.com/ROCm/rocm-cli/pull/150.

The server is up at once, the weights take a while. Whoever waits for the first 200, as the platform does, sends the
first callers into an error.
"""

import time

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

LOADED = time.monotonic() + 2.5


class EarlyPingSession(Session):
    """Session of a container that is open before it is ready."""

    async def say(self, request: protocol.Say) -> None:
        """Speak, or say why not yet."""
        if time.monotonic() < LOADED:
            await self.control(protocol.failed(protocol.MessageError("the model is not loaded", request.request_id)))
        else:
            await super().say(request)


app = speech_app(EarlyPingSession)
