"""The speech container of an agent's checks: it plays a part, well or badly, and remembers what it was asked."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from contract_tests.good.tone import pcm16, waveform

__all__ = ["SAMPLE_RATE", "Part", "Played", "Voice"]

SAMPLE_RATE = 24_000
"""Of Kokoro."""
_ODD_CUTS = (4063, 1697)
"""Bytes: no whole samples. What is left of one is in the next frame."""
_VOICE = "af_heart"
_PING_PATH = "/ping"


@dataclass(frozen=True, slots=True)
class Part:
    """How the container behaves, by its ``kind``.

    ``speak`` answers each sentence, over ``seconds`` each; ``leave`` sends two frames of the first, then Close 1000;
    ``mute`` takes the connection and never answers the upgrade; ``refuse`` has an error for each sentence; ``endless``
    speaks until it is left. ``duration`` is what it declares at the end of a sentence; None is the truth.
    """

    kind: str = "speak"
    seconds: float = 0.0
    duration: float | None = None


@dataclass(slots=True)
class Played:
    """One session as the container saw it. Times on the clock of :func:`time.monotonic`."""

    texts: list[str] = field(default_factory=list)
    pcm: bytearray = field(default_factory=bytearray)
    last_sent: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)


class Voice:
    """Runs on the event loop that serves it; everything else may be called from any thread."""

    def __init__(self) -> None:
        self.url = ""
        self._part = Part()
        self._sessions: list[Played] = []

    def play(self, part: Part) -> None:
        """Behave like this in sessions from now on, and forget those before."""
        self._part, self._sessions = part, []

    @property
    def sessions(self) -> list[Played]:
        """The sessions since the last :meth:`play`."""
        return list(self._sessions)

    @property
    def texts(self) -> list[str]:
        """What was to be spoken in them, in order."""
        return [text for session in self.sessions for text in session.texts]

    @property
    def pcm(self) -> bytes:
        """What was spoken."""
        return b"".join(bytes(session.pcm) for session in self.sessions)

    @property
    def last_sent(self) -> float:
        """When the last of it was sent."""
        return max((session.last_sent for session in self.sessions), default=0.0)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Serve it on a free port of 127.0.0.1."""
        async with serve(
            self._session,
            "127.0.0.1",
            0,
            process_request=self._admit,
            open_timeout=None,
            compression=None,
            ping_interval=None,
        ) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path == _PING_PATH:
            return connection.respond(200, "")
        if self._part.kind == "mute":
            self._sessions.append(Played())
            await connection.wait_closed()
        return None

    async def _session(self, connection: ServerConnection) -> None:
        part, played = self._part, Played()
        self._sessions.append(played)
        try:
            async for message in connection:
                request = _object(message)
                if request.get("type") == "close":
                    await connection.close(1000)
                    return
                played.texts.append(str(request.get("text", "")))
                await self._answer(connection, part, played, str(request.get("request_id", "unknown")))
        except ConnectionClosed:
            return
        finally:
            played.over.set()

    async def _answer(self, connection: ServerConnection, part: Part, played: Played, request_id: str) -> None:
        async def control(kind: str, **members: object) -> None:
            await connection.send(json.dumps({"type": kind, "request_id": request_id, **members}))

        if part.kind == "refuse":
            await control("error", message="the model has failed", code="model_failed")
            return
        await control("synthesis_start")
        pcm = pcm16(waveform(played.texts[-1], _VOICE, SAMPLE_RATE))
        frames = list(_cut(pcm))
        for number, frame in enumerate(frames):
            if part.kind == "leave" and number == 2:
                await connection.close(1000)
                return
            if part.seconds:
                await asyncio.sleep(part.seconds / len(frames))
            await self._send(connection, frame, played)
        while part.kind == "endless":
            await asyncio.sleep(0.01)
            await self._send(connection, pcm, played)
        true = len(pcm) / 2 / SAMPLE_RATE
        await control("synthesis_complete", total_duration_s=true if part.duration is None else part.duration)

    @staticmethod
    async def _send(connection: ServerConnection, frame: bytes, played: Played) -> None:
        played.last_sent = time.monotonic()  # before: the other side may have it first
        await connection.send(frame)
        played.pcm += frame


def _object(message: str | bytes) -> dict[str, object]:
    with suppress(ValueError):
        body = json.loads(message)
        if isinstance(body, dict):
            return body
    return {"text": message if isinstance(message, str) else message.decode("utf-8", "replace")}


def _cut(pcm: bytes) -> list[bytes]:
    frames: list[bytes] = []
    at = 0
    for size in cycle(_ODD_CUTS):
        if at >= len(pcm):
            return frames
        frames.append(pcm[at : at + size])
        at += size
    return frames
