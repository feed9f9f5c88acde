"""An open or opening connection to a container, and the tasks that serve it: what goes out, what comes in."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from container.agent.connection import Part
from container.agent.dialogue import CLOSE, Dialogue
from container.agent.speech_errors import SpeechError

__all__ = ["MAX_WAITING", "Came", "Link", "Lost", "RunningLink"]

MAX_WAITING = 2_000_000
"""Bytes that may wait for whoever reads them, 40 s of audio. Then nothing is received until half of it is gone."""

_PART_SIZE = 200
"""What a part takes beside its bytes: empty ones may not pile up either."""
_END_S = 1.0
"""For the reader to see that its connection is closed."""

_log = logging.getLogger(__name__)


class Link(Protocol):
    """What a session needs of a connection: see :class:`container.agent.connection.Connection`."""

    async def send(self, data: bytes) -> None:
        """Send one message."""

    def parts(self) -> AsyncIterator[Part]:
        """Yield what comes; raise SpeechError where it breaks off."""

    async def end_input(self) -> None:
        """End our side."""

    async def close(self) -> None:
        """Let go."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A link is over; None: without an error."""

    link: "RunningLink"
    error: SpeechError | None


@dataclass(frozen=True, slots=True)
class Came:
    """A part came over a link."""

    link: "RunningLink"
    part: Part


class RunningLink:
    """An open or opening link and the tasks that serve it. It puts what happens into the session's inbox."""

    def __init__(self, open_: Callable[[], Awaitable[Link]], dialogue: Dialogue, inbox: asyncio.Queue[object]) -> None:
        self._open = open_
        self._dialogue = dialogue
        self._inbox = inbox
        self._link: Link | None = None
        self._writer: asyncio.Task[None] | None = None
        self._more = asyncio.Event()
        self._closing = False
        self._left = False
        self._waiting = 0
        """Bytes of what came and was not taken yet."""
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="speech-link")

    def wake(self) -> None:
        """Look for something to send."""
        self._more.set()

    def leave(self) -> None:
        """Send nothing more, what is said from now on is for another link; and nobody wants what still comes."""
        self._left = True
        self._room.set()

    def taken(self, part: Part) -> None:
        """Take note that somebody has read a part."""
        self._waiting -= len(part.data) + _PART_SIZE
        if self._waiting <= MAX_WAITING / 2:
            self._room.set()

    async def gone(self) -> None:
        """Wait until a link that is lost has been let go of."""
        await asyncio.wait([self._task])

    @property
    def was_open(self) -> bool:
        """Whether the link was opened at all."""
        return self._link is not None

    async def _run(self) -> None:
        error: SpeechError | None = None
        try:
            self._link = await self._open()
            self._writer = asyncio.create_task(self._write(self._link), name="speech-writer")
            async for part in self._link.parts():
                await self._put(part)
        except SpeechError as failure:
            error = failure
        finally:
            self._inbox.put_nowait(Lost(self, error))  # first: to let go may take seconds
            await self._let_go()

    async def _put(self, part: Part) -> None:
        """Hand a part on, and wait while too much waits: the container is then held up, and not the memory filled."""
        if self._left or self._closing:
            return
        self._waiting += len(part.data) + _PART_SIZE
        self._inbox.put_nowait(Came(self, part))
        if self._waiting > MAX_WAITING:
            self._room.clear()
            await self._room.wait()

    async def _let_go(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        if self._link is not None:
            await self._link.close()

    async def _write(self, link: Link) -> None:
        while True:
            while not self._left and (message := self._dialogue.next_message()) is not None:
                await self._send(link, message)
            if self._closing:
                await self._send(link, CLOSE)
                return
            await self._more.wait()
            self._more.clear()

    async def _send(self, link: Link, message: bytes) -> None:
        try:
            await link.send(message)
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises here: the reader says how the stream ended
            _log.debug("a message could not be sent: %s", error)

    async def close(self, timeout: float) -> None:  # noqa: ASYNC109 - how long to be polite
        """Say goodbye, read to the end, end the input; in any case let go."""
        self._closing = True
        self._more.set()
        self._room.set()
        await asyncio.wait([self._task], timeout=timeout)
        await self.abort()

    async def abort(self) -> None:
        """Let go at once."""
        self.leave()
        # the connection first: a receive() that is cancelled in flight would leave a stream that nobody can end
        if not self._task.done() and self._link is not None:
            await self._let_go()
            await asyncio.wait([self._task], timeout=_END_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
