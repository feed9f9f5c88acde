"""A speech session: sentences go out while audio comes in.

Nothing that a caller awaits here can hold up the other direction: :meth:`SpeechSession.say` only notes a sentence, one
task sends, another one receives. The session may serve one turn or many; it is opened when it is first needed, and
opened again where the platform has ended it between two turns.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from container.agent.connection import Connection, Part
from container.agent.dialogue import CLOSE, Audio, Begun, Dialogue, Event, Finished, Sentence
from container.agent.speech_errors import SpeechError

__all__ = ["Audio", "Begun", "Event", "Finished", "Sentence", "SpeechError", "SpeechSession"]

ANSWER_TIMEOUT_S = 8.0
WORK_TIMEOUT_S = 8.0
CLOSE_TIMEOUT_S = 3.0
_END_S = 1.0
"""For the reader to see that its connection is closed."""

_ENDED_EARLY = (
    "the speech container ended the session before it had spoken everything; expected was synthesis_complete for each "
    "request"
)

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
class _Lost:
    """A link is over; None: without an error."""

    link: "_Running"
    error: SpeechError | None


@dataclass(frozen=True, slots=True)
class _Came:
    """A part came over a link."""

    link: "_Running"
    part: Part


class _Wake:
    """Something was said, or the turn was ended or cancelled."""


class _Running:
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
        self._task = asyncio.create_task(self._run(), name="speech-link")

    def wake(self) -> None:
        """Look for something to send."""
        self._more.set()

    def leave(self) -> None:
        """Send nothing more: what is said from now on is for another link."""
        self._left = True

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
                self._inbox.put_nowait(_Came(self, part))
        except SpeechError as failure:
            error = failure
        finally:
            await self._let_go()
            self._inbox.put_nowait(_Lost(self, error))

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
        await asyncio.wait([self._task], timeout=timeout)
        await self.abort()

    async def abort(self) -> None:
        """Let go at once."""
        # the connection first: a receive() that is cancelled in flight would leave a stream that nobody can end
        if not self._task.done() and self._link is not None:
            await self._let_go()
            await asyncio.wait([self._task], timeout=_END_S)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class SpeechSession:
    """Speaks sentences in order. One task reads :meth:`events`, any task may call the rest, all on one event loop.

    `answer_timeout_s` is how long the container may take to take up a sentence, opening the session included;
    `work_timeout_s` is how long it may then be silent. Every frame starts that time again: a container that is slower
    than speech is waited for as long as something comes.
    """

    def __init__(
        self,
        open_: Callable[[], Awaitable[Link]],
        *,
        voice: str | None = None,
        speed: float | None = None,
        sample_rate: int | None = None,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        work_timeout_s: float = WORK_TIMEOUT_S,
        close_timeout_s: float = CLOSE_TIMEOUT_S,
    ) -> None:
        self._open = open_
        self._dialogue = Dialogue(voice=voice, speed=speed, sample_rate=sample_rate)
        self._answer_timeout_s = answer_timeout_s
        self._work_timeout_s = work_timeout_s
        self._close_timeout_s = close_timeout_s
        self._inbox: asyncio.Queue[object] = asyncio.Queue()
        self._running: _Running | None = None
        self._ended = False
        self._cancelled = False
        self._reopened = False
        self._cut: SpeechError | None = None
        """Why a sentence of this turn broke off."""
        self._fatal: SpeechError | None = None
        """Why this turn can't go on."""
        self._active = False
        self._leaving: set[asyncio.Task[None]] = set()
        """Links that are being let go of."""

    @classmethod
    def to(cls, endpoint: str, region: str, **options: Any) -> "SpeechSession":
        """Make a session to a SageMaker endpoint, which is not opened yet; `options` are those of the constructor."""
        return cls(lambda: Connection.open(endpoint, region), **options)

    def open(self) -> None:
        """Begin to open the session, so that it is there when the first sentence is."""
        if self._running is None:
            self._running = _Running(self._open, self._dialogue, self._inbox)

    def say(self, text: str) -> Sentence:
        """Speak a sentence after those before. Never waits."""
        sentence = self._dialogue.say(text)
        self.open()
        self._wake()
        return sentence

    def end_turn(self) -> None:
        """Say nothing more in this turn: :meth:`events` ends when everything has been spoken."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._running is not None:
            self._running.wake()
        self._inbox.put_nowait(_Wake())

    async def events(self) -> AsyncGenerator[Event]:
        """Yield what is spoken in this turn, to its end. Raises SpeechError; the session may then be used again.

        A session that is dropped is opened once more in a turn. What was partly heard is not said again: its
        :class:`Finished` is not complete, the rest is spoken, and the turn then ends with the error.
        """
        self._reopened, self._cut, self._fatal = False, None, None
        self._active = True
        deadline: float | None = None
        try:
            while not self._cancelled and not (self._ended and self._dialogue.idle):
                events = self._take(await self._next(deadline))
                for event in events:
                    yield event
                if self._fatal is not None:
                    raise self._fatal
                if self._dialogue.idle:
                    deadline = None
                elif events or deadline is None:
                    # after the caller took them: a slow caller is not the container's fault
                    deadline = asyncio.get_running_loop().time() + self._limit_s
        except SpeechError:
            self._leave()  # and do not wait: the caller is told now, whatever the platform does with a dead stream
            raise
        finally:
            self._active = self._ended = self._cancelled = False
        if self._cut is not None:
            raise self._cut

    async def _next(self, deadline: float | None) -> object:
        with suppress(asyncio.QueueEmpty):
            return self._inbox.get_nowait()
        try:
            async with asyncio.timeout_at(deadline):
                return await self._inbox.get()
        except TimeoutError:
            raise self._dialogue.complaint or SpeechError("no_answer", self._silence()) from None

    def _silence(self) -> str:
        """Say what was missing."""
        limit = f"{self._limit_s:g} s"
        if self._dialogue.begun:
            expected = (
                "more audio or synthesis_complete. Is it overloaded? SPEECH_WORK_TIMEOUT_S is how long it may be silent"
            )
        elif self._running is None or self._running.was_open:
            expected = "synthesis_start. Does it read text frames?"
        else:
            return (
                f"the speech session was not opened: no answer within {limit}. Is the endpoint in service, is port "
                "8443 open, and does SSL_CERT_FILE name the authority of its certificate?"
            )
        return f"the speech container did not answer within {limit}; expected was {expected}"

    @property
    def _limit_s(self) -> float:
        return self._work_timeout_s if self._dialogue.begun else self._answer_timeout_s

    def _take(self, item: object) -> list[Event]:
        """Say what an item means for the caller. Raises SpeechError."""
        if isinstance(item, _Came) and item.link is self._running:
            event = self._dialogue.receive(item.part.data, text=item.part.text)
            if isinstance(event, Finished):
                item.link.wake()
            return [] if event is None else [event]
        if isinstance(item, _Lost) and item.link is self._running:
            self._running = None
            return self._lost(item)
        return []

    def _lost(self, item: _Lost) -> list[Event]:
        complaint, self._dialogue.complaint = self._dialogue.complaint, None
        if self._dialogue.idle:
            return []  # between two sentences: it is opened again when the next one comes
        error = complaint or item.error or SpeechError("session_ended", _ENDED_EARLY)
        if not item.link.was_open:
            raise error
        cut = self._dialogue.drop()
        if self._reopened:
            self._fatal = error
        self._reopened = True
        if self._fatal is None and not self._dialogue.idle:
            _log.warning("the speech session was lost and is opened again: %s", error)
            self.open()
        if cut is None:
            return []
        self._cut = error
        return [cut]

    async def cancel(self) -> None:
        """Stop speaking: :meth:`events` ends with the chunk that it is at, and the container is left."""
        self._cancelled = self._active
        await self._abort()
        self._inbox.put_nowait(_Wake())

    async def close(self) -> None:
        """Take leave of the container, or just leave it where it still speaks."""
        running = self._running
        if running is not None and running.was_open and self._dialogue.idle:
            self._running = None
            await running.close(self._close_timeout_s)
        await self._abort()

    async def _abort(self) -> None:
        self._leave()
        if self._leaving:
            await asyncio.wait(self._leaving)  # whoever is cancelled while waiting does not cancel them

    def _leave(self) -> None:
        """Forget what was said, and let go of the link in a task."""
        self._dialogue.clear()
        self._ended = False
        running, self._running = self._running, None
        if running is not None:
            running.leave()
            task = asyncio.create_task(running.abort(), name="speech-leaving")
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
