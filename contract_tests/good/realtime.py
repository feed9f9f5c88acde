"""Stand-in for a realtime API: JSON events both ways, audio in base64."""

import base64
import uuid
from collections.abc import Iterator

from contract_tests.good import tone
from contract_tests.good.events import Conversation, Event, events_app

RATE = 24000
PIECE = 9600


class RealtimeConversation(Conversation):
    """Session that answers `response.create`."""

    async def greet(self) -> None:
        """Name the session."""
        await self.send({"type": "session.created", "session": {"id": f"sess_{uuid.uuid4().hex}"}})

    async def handle(self, event: Event) -> bool:
        """Answer one event; nothing ends the conversation but the caller who leaves."""
        asked = event.get("response")
        if event.get("type") != "response.create" or not isinstance(asked, dict):
            return await super().handle(event)
        response = {"id": f"resp_{uuid.uuid4().hex}", "status": "in_progress", "metadata": asked.get("metadata")}
        await self.send({"type": "response.created", "response": response})
        text, voice = str(asked.get("instructions", "")), str(asked.get("voice", "alloy"))
        for piece in self.pieces(text, voice):
            await self.send({"type": "response.output_audio.delta", "delta": base64.b64encode(piece).decode()})
        await self.send({"type": "response.done", "response": {**response, "status": "completed"}})
        return True

    def pieces(self, text: str, voice: str) -> Iterator[bytes]:
        """Yield the audio of one response, a piece for each message."""
        return self.cut(tone.pcm16(tone.waveform(text, voice, RATE)))

    @staticmethod
    def cut(pcm: bytes) -> Iterator[bytes]:
        """Cut PCM into pieces of whole samples."""
        return tone.cut(pcm, PIECE)

    async def refuse(self, why: str) -> None:
        """Answer a message that cannot be served."""
        await self.send({"type": "error", "error": {"type": "invalid_request_error", "message": why}})


app = events_app(RealtimeConversation)
