"""A container whose model is not there for its first requests, however fast the machine is."""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

_WITHOUT_MODEL = 5
_asked: list[object] = []


class LateSession(Session):
    async def say(self, request: protocol.Say) -> None:
        _asked.append(request)
        if len(_asked) <= _WITHOUT_MODEL:
            await self.control(protocol.failed(protocol.MessageError("the model is not loaded", request.request_id)))
        else:
            await super().say(request)


app = speech_app(LateSession)
