"""Fault: the end of a lost answer is spoken to the next caller. Seen in https://github.com/huggingface/speech-to-speech/pull/226.

What was made, but not sent any more, stays in a buffer of the module.
"""

from collections import deque

from starlette.websockets import WebSocketDisconnect

from contract_tests.good import protocol, tone
from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app

BUFFER: deque[bytes] = deque()


class LeavingSession(PacedSession):
    """Session that does not clear up."""

    async def say(self, request: protocol.Say) -> None:
        """Speak, and keep what the caller did not wait for."""
        try:
            await super().say(request)
        except WebSocketDisconnect:
            BUFFER.append(tone.pcm16(tone.waveform(request.text, request.voice, request.rate, request.speed)))
            raise

    async def send(self, pcm: bytes) -> None:
        """Send what is in the buffer first."""
        while BUFFER:
            await super().send(BUFFER.popleft())
        await super().send(pcm)


app = speech_app(LeavingSession)
