"""A speech session: sentences go out while audio comes in.

Nothing that a caller awaits here can hold up the other direction: :meth:`SpeechSession.say` only notes a sentence, one
task sends, another one receives. The session may serve one turn or many; it is opened when it is first needed, and
opened again where the platform has ended it between two turns.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from container.agent.connection import Connection
from container.agent.dialogue import Audio, Begun, Dialogue, Event, Finished, Sentence
from container.agent.link import Came, Link, Lost, RunningLink
from container.agent.speech_errors import SpeechError

__all__ = ["Audio", "Begun", "Event", "Finished", "Sentence", "SpeechError", "SpeechSession"]

ANSWER_TIMEOUT_S = 8.0
WORK_TIMEOUT_S = 8.0
CLOSE_TIMEOUT_S = 3.0

_ENDED_EARLY = (
    "the speech container ended the session before it had spoken everything; expected was synthesis_complete for each "
    "request"
)

_log = logging.getLogger(__name__)


class _Wake:
    """Something was said, or the turn was ended or cancelled."""


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
        self._running: RunningLink | None = None
        self._ended = False
        self._cancelled = False
        self._reopened = False
        self._cut: SpeechError | None = None
        """Why a sentence of this turn broke off."""
        self._fatal: SpeechError | None = None
        """Why this turn can't go on."""
        self._active = False
        self._since: float | None = None
        """When the container last gave a sign of life, or was first asked for one in this turn."""
        self._lost_at: float | None = None
        """When the session was lost, if it was since then."""
        self._leaving: set[asyncio.Task[None]] = set()
        """Links that are being let go of."""
        self._remains: set[asyncio.Task[None]] = set()
        """What is left of links that were not opened: nobody waits for it but :meth:`close`."""

    @classmethod
    def to(cls, endpoint: str, region: str, **options: Any) -> "SpeechSession":
        """Make a session to a SageMaker endpoint, which is not opened yet; `options` are those of the constructor."""
        session: SpeechSession

        def later(work: Coroutine[Any, Any, None]) -> None:
            session._track(session._remains, work)

        session = cls(lambda: Connection.open(endpoint, region, later), **options)
        return session

    @staticmethod
    def _track(tasks: "set[asyncio.Task[None]]", work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="speech-leaving")
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def open(self) -> None:
        """Begin to open the session, so that it is there when the first sentence is."""
        if self._running is None:
            self._running = RunningLink(self._open, self._dialogue, self._inbox)

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
        self._since = self._lost_at = None
        clock = asyncio.get_running_loop().time
        try:
            while not self._cancelled and not (self._ended and self._dialogue.idle):
                item = await self._next()
                events = self._take(item)
                came = clock()
                for event in events:
                    yield event
                if self._fatal is not None:
                    raise self._fatal
                # after the caller took them: a slow caller is not the container's fault
                now = clock()
                if self._dialogue.idle:
                    self._since = self._lost_at = None
                elif self._since is None or (events and isinstance(item, Came)):
                    self._since, self._lost_at = now, None
                else:
                    self._since += now - came
                    if self._lost_at is not None:
                        self._lost_at += now - came
        except SpeechError:
            self._leave()  # and do not wait: the caller is told now, whatever the platform does with a dead stream
            raise
        finally:
            self._active = self._ended = self._cancelled = False
        if self._cut is not None:
            raise self._cut

    async def _next(self) -> object:
        with suppress(asyncio.QueueEmpty):
            return self._inbox.get_nowait()
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._inbox.get()
        except TimeoutError:
            raise self._dialogue.complaint or SpeechError("no_answer", self._silence()) from None

    @property
    def _deadline(self) -> float | None:
        """When the container will have been silent for too long; None: nothing is expected of it.

        A session that is lost is no sign of life: the one that is opened in its place has what is left of the time.
        """
        if self._since is None:
            return None
        if self._lost_at is None:
            return self._since + self._limit_s
        longest = max(self._answer_timeout_s, self._work_timeout_s)
        return min(self._since + longest, self._lost_at + self._answer_timeout_s)

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
        if isinstance(item, Came):
            item.link.taken(item.part)
        if isinstance(item, Came) and item.link is self._running:
            event = self._dialogue.receive(item.part.data, text=item.part.text)
            if isinstance(event, Finished):
                item.link.wake()
            return [] if event is None else [event]
        if isinstance(item, Lost) and item.link is self._running:
            self._running = None
            self._track(self._leaving, item.link.gone())
            return self._lost(item)
        return []

    def _lost(self, item: Lost) -> list[Event]:
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
            self._lost_at = asyncio.get_running_loop().time()
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
        while self._remains:
            await asyncio.wait(self._remains)

    async def _abort(self) -> None:
        self._leave()
        while self._leaving:
            await asyncio.wait(self._leaving)  # whoever is cancelled while waiting does not cancel them

    def _leave(self) -> None:
        """Forget what was said, and let go of the link in a task."""
        self._dialogue.clear()
        self._ended = False
        running, self._running = self._running, None
        if running is not None:
            running.leave()
            self._track(self._leaving, running.abort())
