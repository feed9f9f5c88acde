"""A good container with a model that needs its time: one sentence after the other, in a thread, each sent when ready.

The others make their tone at once, and what only shows while a model works cannot be seen in them.
"""

import asyncio
import re
import threading
import time

from contract_tests.good import protocol, tone
from contract_tests.good.speech import Session, speech_app

SENTENCE = re.compile(r"[^.!?]*[.!?]*\s*")

MODEL = threading.Lock()
"""There is one model, and it does one sentence at a time."""


class PacedSession(Session):
    """Session whose model makes `pace` seconds of audio per second."""

    pace = 8.0

    async def say(self, request: protocol.Say) -> None:
        """Send start, the audio of each sentence as soon as it is there, and complete.

        A caller who has hung up is noticed between two sentences, and the rest is never made.
        """
        await self.control(protocol.started(request.request_id))
        size = 0
        for sentence in sentences(request.text):
            pcm = await asyncio.to_thread(self.speak, request, sentence)
            size += len(pcm)
            await self.send(pcm)
        await self.control(protocol.completed(request.request_id, size / (2 * request.rate)))

    async def send(self, pcm: bytes) -> None:
        """Send PCM in frames."""
        for frame in self.frames(pcm):
            await self.ws.send_bytes(frame)

    def speak(self, request: protocol.Say, sentence: str) -> bytes:
        """Make the PCM of one sentence, on a thread; other sentences wait for their turn."""
        with MODEL:
            return self.make(request, sentence)

    def make(self, request: protocol.Say, sentence: str) -> bytes:
        """Make the PCM of one sentence at the model's pace."""
        pcm = tone.pcm16(tone.waveform(sentence, request.voice, request.rate, request.speed))
        time.sleep(len(pcm) / (2 * request.rate) / self.pace)  # the work itself: there is nothing to wait for
        return pcm


def sentences(text: str) -> list[str]:
    """Cut `text` after each sentence."""
    return [part for part in SENTENCE.findall(text) if part]


app = speech_app(PacedSession)
