"""A model without weights: it counts, waits and fails on demand, and its audio can be told apart. And a client."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
from starlette.types import Message
from starlette.websockets import WebSocket

from container.kokoro.errors import SynthesisError
from container.kokoro.pcm import MODEL_RATE, Samples
from container.kokoro.phonemes import Reading
from container.kokoro.settings import Settings
from container.kokoro.speech import WARM_UP, Speech
from container.kokoro.voices import blend

SECONDS_A_CHARACTER = 0.05


class FakeReader:
    """Letters are their own phonemes; a text without any is silent, and ideographs have no reading."""

    def read(self, text: str, language: str) -> Reading:
        del language
        speakable = any(c.isalnum() and c.isascii() for c in text)
        unspoken = "".join(c for c in text if c.isalpha() and not c.isascii())
        return Reading((text.strip(),) if speakable else (), unspoken)


@dataclass
class FakeEngine:
    """0.05 s of a constant level for each character. "boom" fails; "hold" waits until `release` is set."""

    description: str = "fake"
    together: int = 1
    voice_names: list[str] = field(default_factory=lambda: ["af_bella", "af_heart", "am_michael", "bf_emma"])
    spoken: list[str] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    holding: threading.Event = field(default_factory=threading.Event)

    def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
        if phonemes != WARM_UP:
            self.spoken.append(phonemes)
        if "boom" in phonemes:
            raise SynthesisError("secret detail of the model")
        if "hold" in phonemes:
            self.holding.set()
            assert self.release.wait(20), "the test never released the engine"
        level = sum(share * (0.1 + self.voice_names.index(name) / 10) for name, share in blend(voice))
        samples = round(len(phonemes) * SECONDS_A_CHARACTER * MODEL_RATE / speed)
        return np.full(samples, level, dtype=np.float32)


def speech(engine: FakeEngine, settings: Settings | None = None) -> Speech:
    """Return speech around `engine`."""
    settings = settings or Settings()
    return Speech(engine, FakeReader(), max_waiting=settings.max_waiting, first_clause=settings.first_clause == "on")


class Socket:
    """A WebSocket without a network: the client opens it, says what it has to say, and reads as `reading` does.

    `reading` is called with each message for the client, and holds up the sender until it returns.
    """

    def __init__(self, reading: Callable[[Message], Awaitable[object]], *texts: str) -> None:
        self.sent: list[Message] = []
        self.gone = asyncio.Event()
        """The client has hung up."""
        self.websocket = WebSocket({"type": "websocket"}, self._receive, self._send)
        self._reading = reading
        self._incoming: list[Message] = [
            {"type": "websocket.connect"},
            *({"type": "websocket.receive", "text": text} for text in texts),
        ]

    async def _receive(self) -> Message:
        if self._incoming:
            return self._incoming.pop(0)
        await self.gone.wait()
        return {"type": "websocket.disconnect", "code": 1005}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        await self._reading(message)
