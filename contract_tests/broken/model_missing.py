"""Fault: /ping says 200 although the model was never loaded. Seen in https://github.com/awslabs/multi-model-server/issues/1027.

The endpoint goes InService, and every request is answered with the same error.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class ModelMissingSession(Session):
    """Session without a model behind it."""

    async def say(self, request: protocol.Say) -> None:
        """Report what the loading of the model should have reported."""
        await self.control(protocol.failed(protocol.MessageError("the model is not loaded", request.request_id)))


app = speech_app(ModelMissingSession)
