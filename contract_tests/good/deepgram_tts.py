"""Stand-in for text to speech in the style of Deepgram: `Speak`, `Flush`, audio, `Flushed`."""

import asyncio

from contract_tests.good import tone
from contract_tests.good.events import Conversation, Event, events_app

RATE = 24000
FRAME = 4800


class SpeakConversation(Conversation):
    """Session that collects text until it is flushed."""

    text = ""
    flushed = 0

    async def greet(self) -> None:
        """Tell about the model."""
        await self.send({"type": "Metadata", "model_name": "tone"})

    async def handle(self, event: Event) -> bool:
        """Answer one event; `Close` ends the conversation."""
        kind = event.get("type")
        if kind == "Speak" and isinstance(event.get("text"), str):
            self.text += event["text"]
        elif kind == "Flush":
            await self.flush()
        elif kind == "Close":
            return False
        else:
            return await super().handle(event)
        return True

    async def flush(self) -> None:
        """Speak what was collected."""
        text, self.text = self.text, ""
        for frame in tone.cut(tone.pcm16(tone.waveform(text, "aura", RATE)), FRAME):
            await self.ws.send_bytes(frame)
            await asyncio.sleep(0)
        await self.send({"type": "Flushed", "sequence_id": self.flushed})
        self.flushed += 1


app = events_app(SpeakConversation)
