"""Fault: the voice belongs to the model, not to the request. Seen in https://github.com/k2-fsa/sherpa-onnx/issues/3258.

The second caller sets it, and the first one's next sentence is spoken in it.
"""

from dataclasses import replace

from contract_tests.good import protocol
from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app


class Model:
    """The one model, with the voice that was set last."""

    voice = ""


class SharedVoiceSession(PacedSession):
    """Session that sets the model's voice once, when it begins to speak."""

    async def say(self, request: protocol.Say) -> None:
        """Set the voice and speak."""
        Model.voice = request.voice
        await super().say(request)

    def make(self, request: protocol.Say, sentence: str) -> bytes:
        """Make a sentence in the voice that is set."""
        return super().make(replace(request, voice=Model.voice), sentence)


app = speech_app(SharedVoiceSession)
