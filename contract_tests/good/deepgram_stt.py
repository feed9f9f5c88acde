"""Stand-in for speech to text in the style of Deepgram: audio in, JSON out. It hears how long somebody spoke."""

from contract_tests.good.events import Conversation, Event, events_app

RATE = 16000


class ListenConversation(Conversation):
    """Session that counts what it hears."""

    heard = 0

    async def take(self, payload: str | bytes) -> bool:
        """Take audio from BINARY frames, everything else from TEXT frames."""
        if isinstance(payload, bytes):
            self.heard += len(payload)
            return True
        return await super().take(payload)

    async def handle(self, event: Event) -> bool:
        """Answer one event; `CloseStream` ends the conversation."""
        kind = event.get("type")
        if kind == "Finalize":
            seconds, self.heard = self.heard / 2 / RATE, 0
            words = {"transcript": f"somebody spoke for {seconds:.1f} s", "confidence": 1.0}
            await self.send({"type": "Results", "from_finalize": True, "channel": {"alternatives": [words]}})
        elif kind == "CloseStream":
            return False
        elif kind != "KeepAlive":
            return await super().handle(event)
        return True


app = events_app(ListenConversation)
