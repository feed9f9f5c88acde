"""Fault: success without sound. Seen in https://github.com/Azure-Samples/cognitive-services-speech-sdk/issues/2268.

The voice is not looked up; the model has nothing for it and yields nothing, and a typo in a setting is answered with
start, complete and no sound.
"""

import json
from dataclasses import replace

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class SilentVoiceSession(Session):
    """Session that leaves the voice to the model."""

    known = True

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message, whatever the voice."""
        try:
            document = json.loads(payload)
            voice = document["voice"]
        except (ValueError, TypeError, KeyError):
            return await super().answer(payload)
        self.known = voice in protocol.VOICES
        return await super().answer(json.dumps({**document, "voice": voice if self.known else "af_heart"}))

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Return what the model has for that voice."""
        return await super().synthesise(replace(request, text=request.text if self.known else ""))


app = speech_app(SilentVoiceSession)
