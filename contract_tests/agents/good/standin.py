"""A good agent without a framework. Every step is a method, so that a broken agent can replace exactly one."""

import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from contract_tests.agents.good.model import deltas
from contract_tests.agents.good.speech import Speech
from contract_tests.agents.good.splitter import Splitter

__all__ = ["Event", "Standin", "agent_app"]

Event = dict[str, Any]


class Standin:
    """One turn."""

    def __init__(self) -> None:
        self.count = 0
        self._odd = b""
        self._written = ""

    async def frames(self, prompt: str) -> AsyncGenerator[bytes]:
        """Yield the answer as server-sent events, the last one of which says how it went."""
        try:
            async with aclosing(self.events(prompt)) as events:
                async for event in events:
                    yield self.frame(event)
        except Exception as error:  # noqa: BLE001 - the caller must be told of whatever it is
            yield self.frame({"type": "error", "message": f"{type(error).__name__}: {error}"})
        else:
            yield self.frame({"type": "done"})

    def frame(self, event: Event) -> bytes:
        """Return an event as a frame of the stream."""
        return f"data: {json.dumps(self.numbered(event), allow_nan=False)}\n\n".encode()

    def numbered(self, event: Event) -> Event:
        """Give an event its number."""
        self.count += 1
        return {**event, "seq": self.count}

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield what happens: what the model wrote, each sentence of it, and its audio."""
        async with self.voice() as speech:
            async for sentence in self.sentences(prompt):
                yield self.written()
                yield {"type": "sentence", "text": sentence}
                async for event in self.spoken(speech, sentence):
                    yield event
            yield self.written()

    def written(self) -> Event:
        """Return what the model wrote since this was last asked."""
        text, self._written = self._written, ""
        return {"type": "text", "text": text}

    async def deltas(self, prompt: str) -> AsyncGenerator[str | None]:
        """Yield the deltas of the model, and None where a message of it ends."""
        async for delta in deltas(prompt):
            self._written += delta or ""
            yield delta

    def voice(self) -> AbstractAsyncContextManager[Speech]:
        """Open the voice of this turn."""
        return Speech.opened()

    async def sentences(self, prompt: str) -> AsyncGenerator[str]:
        """Yield the sentences of the model's answer as soon as they are whole."""
        splitter = self.splitter()
        async for delta in self.deltas(prompt):
            for sentence in splitter.flush() if delta is None else splitter.feed(delta):
                yield sentence

    def splitter(self) -> Splitter:
        """Return what cuts the answer of this turn."""
        return Splitter()

    async def spoken(self, speech: Speech, sentence: str) -> AsyncGenerator[Event]:
        """Yield the audio of a sentence, and its end."""
        async for frame in speech.say(sentence):
            if pcm := self.whole(frame):
                yield {"type": "audio_chunk", "data": base64.b64encode(pcm).decode()}
        yield {"type": "sentence_end", "duration_s": speech.duration}

    def whole(self, frame: bytes) -> bytes:
        """Return whole samples; what is left of one waits for the next frame."""
        pcm = self._odd + frame
        size = len(pcm) // 2 * 2
        self._odd = pcm[size:]
        return pcm[:size]


def agent_app(turn: type[Standin] = Standin) -> Starlette:
    """Return the agent as an ASGI app: POST /invocations, GET /ping."""
    running: set[int] = set()
    changed = [int(time.time())]

    def busy(number: int, *, now: bool) -> None:
        before = bool(running)
        (running.add if now else running.discard)(number)
        if bool(running) != before:
            changed[0] = int(time.time())

    async def body(prompt: str) -> AsyncGenerator[bytes]:
        this = turn()
        busy(id(this), now=True)
        try:
            async with aclosing(this.frames(prompt)) as frames:
                async for frame in frames:
                    yield frame
        finally:
            busy(id(this), now=False)

    async def invoke(request: Request) -> Response:
        prompt = str((await request.json())["prompt"])
        return StreamingResponse(body(prompt), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def ping(_: Request) -> Response:
        return JSONResponse({"status": "HealthyBusy" if running else "Healthy", "time_of_last_update": changed[0]})

    return Starlette(routes=[Route("/invocations", invoke, methods=["POST"]), Route("/ping", ping)])


app = agent_app()
