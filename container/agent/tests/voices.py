"""Scripted speech containers: WebSocket handlers that speak the protocol, each with one peculiarity."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.server import ServerConnection

Handler = Callable[[ServerConnection], Awaitable[None]]

PCM = bytes(range(200)) * 48
"""0.2 s of something."""


class Voice:
    """A container that answers each sentence with `chunks`; what it was asked is in `asked`, session by session."""

    def __init__(self, chunks: list[bytes] | None = None) -> None:
        self.chunks = [PCM, PCM] if chunks is None else chunks
        self.asked: list[list[str]] = []
        self.requests: list[dict[str, Any]] = []
        self.kinds: list[str] = []
        self.closes = 0
        self.open = 0
        self.ended = asyncio.Condition()
        self.entered = asyncio.Event()

    @property
    def texts(self) -> list[str]:
        """All that it was asked to say."""
        return [text for session in self.asked for text in session]

    async def __call__(self, connection: ServerConnection) -> None:
        """Serve one session."""
        asked: list[str] = []
        self.asked.append(asked)
        session = len(self.asked)
        self.open += 1
        self.entered.set()
        try:
            async for message in connection:
                self.kinds.append("text" if isinstance(message, str) else "binary")
                request = json.loads(message)
                if request.get("type") == "close":
                    self.closes += 1
                    await connection.close(1000)
                    return
                asked.append(request["text"])
                self.requests.append(request)
                await self.answer(connection, request["request_id"], session)
        finally:
            self.open -= 1
            async with self.ended:
                self.ended.notify_all()

    async def down_to(self, sessions: int) -> None:
        """Wait until no more than so many sessions are open: a client may be done before the container is."""
        async with asyncio.timeout(20), self.ended:
            await self.ended.wait_for(lambda: self.open <= sessions)

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer one request; `session` counts from 1."""
        del session
        await self.control(connection, "synthesis_start", request_id)
        for chunk in self.chunks:
            await connection.send(chunk)
        await self.control(connection, "synthesis_complete", request_id, total_duration_s=0.4)

    async def control(self, connection: ServerConnection, kind: str, request_id: str, **fields: object) -> None:
        """Send a control message."""
        await connection.send(json.dumps({"type": kind, "request_id": request_id, **fields}))


class ClosesEarly(Voice):
    """Closes with 1000 after two chunks of its answer, in its first `times` sessions."""

    def __init__(self, times: int = 99) -> None:
        super().__init__()
        self.times = times

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer, perhaps not to the end."""
        if session > self.times:
            return await super().answer(connection, request_id, session)
        await self.control(connection, "synthesis_start", request_id)
        for chunk in self.chunks:
            await connection.send(chunk)
        await connection.close(1000)
        return None


class DropsAfter(Voice):
    """Loses its first session after `sentences` answers, without a word about the next request."""

    def __init__(self, sentences: int) -> None:
        super().__init__()
        self.sentences = sentences

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer, or drop the connection."""
        if session == 1 and len(self.asked[0]) > self.sentences:
            connection.transport.abort()
            return
        await super().answer(connection, request_id, session)


class LeavesAfter(Voice):
    """Ends each session in order after `sentences` answers."""

    def __init__(self, sentences: int) -> None:
        super().__init__()
        self.sentences = sentences

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer, and perhaps close."""
        await super().answer(connection, request_id, session)
        if len(self.asked[-1]) == self.sentences:
            await connection.close(1000)


class Tires(Voice):
    """Ends its first `times` sessions after an answer, as idle ones; later ones it refuses at once."""

    def __init__(self, times: int = 99) -> None:
        super().__init__()
        self.times = times
        self.tired = asyncio.Event()

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Answer or not, complain, close."""
        if session <= self.times:
            await super().answer(connection, request_id, session)
            await self.control(connection, "error", "unknown", code="idle", message="nothing was asked for 60 s")
        else:
            await self.control(connection, "error", "unknown", code="too_many_sessions", message="one too many")
        await connection.close(1000 if session <= self.times else 1013)
        self.tired.set()


class Chatters(Voice):
    """Sends messages of one kind, for ever."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Chatter."""
        del session
        while True:
            await self.control(connection, self.kind, request_id)
            await asyncio.sleep(0.05)


class Endless(Voice):
    """Goes on with an answer until it is left, in its first `sessions`."""

    def __init__(self, sessions: int = 99) -> None:
        super().__init__()
        self.sessions = sessions
        self.sent = 0
        self.left = asyncio.Event()

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Speak for ever, or answer."""
        if session > self.sessions:
            return await super().answer(connection, request_id, session)
        await self.control(connection, "synthesis_start", request_id)
        try:
            while True:
                await connection.send(PCM)
                self.sent += 1
                await asyncio.sleep(0.05)
        finally:
            self.left.set()


class Says(Voice):
    """Answers with fixed frames, whatever they are."""

    def __init__(self, *frames: str | bytes) -> None:
        super().__init__()
        self.frames = frames

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Send the frames; "{id}" in a text becomes the request's id."""
        del session
        for frame in self.frames:
            await connection.send(frame.replace("{id}", request_id) if isinstance(frame, str) else frame)


class Refuses(Voice):
    """Answers its first request with an error."""

    async def answer(self, connection: ServerConnection, request_id: str, session: int) -> None:
        """Refuse, or answer."""
        if len(self.requests) == 1:
            await self.control(connection, "error", request_id, message="model failed", code="model_failed")
            return
        await super().answer(connection, request_id, session)


async def silent(connection: ServerConnection) -> None:
    """Read and never answer."""
    async for _ in connection:
        pass
