"""One turn: a prompt to events. While the model writes, finished sentences are spoken and their audio comes back.

Everything runs in tasks of the turn's own. Whoever reads the events may leave at any moment: then the model and the
speech session are stopped too.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, cast

from opentelemetry import trace
from strands import Agent
from strands.types.content import Messages

from container.agent.encoding import Encoder, encoder
from container.agent.model_errors import ModelError, model_error
from container.agent.outgoing import SAMPLE_RATE, Event, Outgoing, seconds
from container.agent.request import Request
from container.agent.sentences import SentenceSplitter
from container.agent.settings import Settings
from container.agent.speech import Audio, Finished, SpeechError, SpeechSession
from container.agent.spoken import SpokenText
from container.agent.timeline import Timeline

__all__ = ["SAMPLE_RATE", "Event", "Turn"]

MAX_CHUNK = 24_000
"""Bytes of audio in one event, half a second: base64 or not, it fits into the 32 KB of AgentCore's WebSocket frames."""
MAX_TEXT = 1_900
"""Characters of text in one event: escaped they are at most 12 bytes each, and so below the same limit."""

_STOP_S = 2.0
"""How long a model that was asked to stop may take before its task is cancelled."""
_LANGUAGES = {"a": "en", "b": "en", "e": "es", "f": "fr", "h": "hi", "i": "it", "j": "ja", "p": "pt", "z": "zh"}
"""ISO 639-1 by the first letter of a Kokoro voice."""

_log = logging.getLogger(__name__)
_tracer = trace.get_tracer("container.agent")


class Turn:
    """Runs one turn: :meth:`run` in a task of its own, while :meth:`events` is read."""

    def __init__(
        self, request: Request, agent: Agent, speech: SpeechSession, timeline: Timeline, settings: Settings
    ) -> None:
        self._request = request
        self._agent = agent
        self.before: Messages = list(agent.messages)
        """The conversation as it was when the turn began."""
        self._speech = speech
        self._timeline = timeline
        self._out = Outgoing(timeline)
        self._settings = settings
        self._voice = request.voice or settings.voice
        self._format = request.format or settings.audio_format
        self._clock = asyncio.get_running_loop().time
        language = _LANGUAGES.get(self._voice[:1], "en")
        wait_s = settings.sentence_wait_s if request.mode == "bidi" else None  # nobody waits for a batch to be cut
        self._splitter = SentenceSplitter(language, max_seconds=wait_s, clock=self._clock)
        self._spoken = SpokenText(enabled=settings.clean_text)
        self._held: list[str] = []
        """Sentences that wait for the end of the text, in batch mode."""
        self._handing_over = asyncio.Lock()
        self._fed = asyncio.Event()
        self._numbers: dict[int, int] = {}
        """The session's number of a sentence to the turn's."""
        self._characters = 0
        self._parted = False
        """Whether a tool came between the text so far and what follows."""
        self._sentences = 0
        self._marks: dict[str, float] = {}
        self._span: trace.Span = trace.INVALID_SPAN
        self._began_ns = 0
        self._stop_reason: str | None = None
        self._failure: Event | None = None
        """The last event, where it was queued before everything was wound up."""
        self._spoken_to_the_end = False
        self._said: list[str] = []
        """The sentences that were handed over, as they were written, by the turn's number."""
        self._aloud = False
        """Whether a sentence had something that can be read aloud: a voice has nothing to say to "…"."""
        self.memory: Messages | None = None
        """The conversation as it is when the turn is over; None where it failed or was left.

        Of one that was interrupted it has the prompt and the sentences of which something was heard.
        """

    def events(self) -> AsyncIterator[Event]:
        """Yield the events of the turn; the last one is `done` or `error`. The `data` of `audio_chunk` is bytes."""
        return self._out.events()

    def interrupt(self) -> None:
        """Stop speaking: somebody talks into it. The turn ends with a `done` that says so."""
        self._out.interrupt()

    async def run(self) -> None:
        """Run the turn. Its failures are events; only a cancellation leaves it, with everything stopped."""
        attributes = {"speech.mode": self._request.mode, "speech.voice": self._voice}
        with _tracer.start_as_current_span("speak", attributes=attributes) as span:
            self._span = span
            self._began_ns = time.time_ns()
            try:
                last = await self._run()
            except asyncio.CancelledError:
                span.set_attribute("speech.left", True)
                raise
            span.set_attributes({f"speech.{name}_ms": at for name, at in self._marks.items()})
            if last["type"] == "error":
                span.set_status(trace.StatusCode.ERROR, last["message"])
        await self._out.last(None if last is self._failure else last)
        if last["type"] == "done":
            # only now: as long as the reader had not come to it, an interruption took audio back
            self.memory = self._heard() if self._out.interrupted.is_set() else self._agent.messages
        self._out.close()

    async def _run(self) -> Event:
        """Return the last event; that of a failure may be on its way already."""
        try:
            await self._out.emit(
                "agent_start",
                mode=self._request.mode,
                voice=self._voice,
                format=self._format,
                sample_rate=SAMPLE_RATE,
            )
            self._speech.open()
            await self._work()
        except Exception as failure:  # noqa: BLE001 - the reader must be told of whatever it is
            return self._failure or self._failed(failure)
        return self._timeline.event(
            "done",
            interrupted=self._out.interrupted.is_set(),
            sentences=self._sentences,
            total_chunks=self._out.chunks,
            duration_s=seconds(self._out.pcm),
            first_text_ms=self._marks.get("first_text"),
            first_sentence_ms=self._marks.get("first_sentence"),
            first_audio_ms=self._marks.get("first_audio"),
        )

    def _failed(self, failure: Exception) -> Event:
        """Return the event for a failure."""
        if isinstance(failure, SpeechError | ModelError):
            _log.warning("turn %s failed: %s", self._timeline.request_id, failure)
            return self._timeline.error(failure.code, str(failure))
        _log.error("turn %s failed", self._timeline.request_id, exc_info=failure)
        return self._timeline.error("internal", f"the agent failed: {type(failure).__name__}: {failure}")

    def _heard(self) -> Messages | None:
        """Return the conversation with what was heard of this turn; the agent's own history says "cancelled"."""
        heard = self._out.heard
        said = [written for number, written in enumerate(self._said) if number in heard]
        if not said:
            return None
        return [
            *self.before,
            {"role": "user", "content": [{"text": self._request.prompt}]},
            {"role": "assistant", "content": [{"text": " ".join(said)}]},
        ]

    async def _work(self) -> None:
        """Let both sides work, to their end or to the first failure; leave nothing running."""
        text = asyncio.create_task(_guarded(self._write()), name="turn-text")
        audio = asyncio.create_task(_guarded(self._listen()), name="turn-audio")
        clock = asyncio.create_task(self._watch_the_time(), name="turn-clock")
        interrupt = asyncio.create_task(self._out.interrupted.wait(), name="turn-interrupt")
        running: set[asyncio.Task[Any]] = {text, audio}
        try:
            while running and not interrupt.done():
                done, _ = await asyncio.wait({*running, clock, interrupt}, return_when=asyncio.FIRST_COMPLETED)
                running -= done
                for task in done:
                    task.result()
        except Exception as failure:
            self._out.stopped = True
            if self._out.has_room:
                # at once: to stop a model and to leave a container may take seconds
                self._failure = self._failed(failure)
                self._out.put_at_once(self._failure)
            raise
        finally:
            self._out.stopped = True
            await self._through(self._wind_up(text, audio, clock, interrupt))

    async def _through(self, work: Coroutine[Any, Any, None]) -> None:
        """Await `work` to its end, even if the reader leaves meanwhile; then be cancelled."""
        me = asyncio.current_task()
        task = asyncio.create_task(work, name="turn-end")
        cancelled = me is not None and me.cancelling() > 0
        while True:
            if cancelled:  # nobody reads any more: the text side must not wait for room
                self._out.forget()
            try:
                await asyncio.shield(task)
                break
            except asyncio.CancelledError:
                if task.done():
                    raise
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError

    async def _wind_up(self, text: "asyncio.Task[None]", *others: "asyncio.Task[Any]") -> None:
        for task in others:
            task.cancel()
        await self._stop_model(text)
        await asyncio.gather(text, *others, return_exceptions=True)
        if not self._spoken_to_the_end:
            await self._speech.cancel()

    async def _stop_model(self, text: "asyncio.Task[None]") -> None:
        if text.done():
            return
        self._agent.cancel()
        if (stop := getattr(self._agent.model, "stop", None)) is not None:
            stop.set()
        await asyncio.wait([text], timeout=_STOP_S)
        text.cancel()

    def _mark(self, name: str) -> None:
        """Note when something happened for the first time."""
        if name not in self._marks:
            self._marks[name] = self._timeline.ms
            self._span.add_event(name, {"t_ms": self._timeline.ms})
            # and as a span of the time that it took: that is what trace viewers draw
            _tracer.start_span(name, trace.set_span_in_context(self._span), start_time=self._began_ns).end()

    # the text side

    async def _write(self) -> None:
        async with aclosing(_generator(self._agent.stream_async(self._request.prompt))) as stream:
            while (event := await self._next(stream)) is not None:
                await self._take(event)
        await self._hand_over(self._splitter.flush(), last=True)
        await self._out.emit(
            "text_done", stop_reason=self._stop_reason, characters=self._characters, sentences=self._sentences
        )
        self._speech.end_turn()

    async def _next(self, stream: AsyncIterator[Any]) -> dict[str, Any] | None:
        """Return the agent's next event, None at the end. Raises ModelError."""
        limit = self._settings.model_timeout_s
        try:
            async with asyncio.timeout(limit):
                event: dict[str, Any] = await anext(stream)
                return event
        except StopAsyncIteration:
            return None
        except Exception as failure:
            error = model_error(failure, limit)
            if error.code != "max_tokens":
                raise error from failure
            self._stop_reason = error.code  # what there is, is spoken
            return None

    async def _take(self, event: dict[str, Any]) -> None:
        """Take one event of the agent. Only `data` is speech; nothing of the rest is passed on."""
        text = event.get("data")
        if isinstance(text, str):
            if text:
                if self._parted and not text[0].isspace():
                    text = f" {text}"  # whoever joins the texts would read "Let me check.It is sunny."
                self._parted = False
                self._mark("first_text")
                self._characters += len(text)
                for start in range(0, len(text), MAX_TEXT):
                    await self._out.emit("text", text=text[start : start + MAX_TEXT])
                await self._hand_over(self._splitter.feed(text))
                self._fed.set()
        elif "message" in event or "start_event_loop" in event or "current_tool_use" in event:
            # before and after a tool the text does not go on: "Let me check" and "It is sunny" are two sentences
            self._parted = self._characters > 0
            await self._hand_over(self._splitter.flush())
        elif "event_loop_throttled_delay" in event and self._characters:
            raise ModelError(
                "model_throttled", "the model broke off its answer and would begin it again from the start"
            )
        elif (result := event.get("result")) is not None:
            self._stop_reason = str(result.stop_reason)

    async def _watch_the_time(self) -> None:
        """Cut a sentence that waits for its end for too long."""
        due: float | None = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else max(0.0, due - self._clock())):
                    await self._fed.wait()
            self._fed.clear()
            now = self._clock()
            sentences = self._splitter.feed("")
            due = self._splitter.overdue_at
            if due is not None and due <= now:
                due = None  # it has just been looked at: one word, which may go on
            await self._hand_over(sentences)

    async def _hand_over(self, sentences: list[str], *, last: bool = False) -> None:
        """Speak sentences now; in batch mode, when the text is at its end."""
        async with self._handing_over:  # two tasks do this: one at a time, in the order in which they were cut
            if self._request.mode == "batch":
                self._held += sentences
                sentences = []
                if last:
                    sentences, self._held = self._held, []
            for sentence in sentences:
                if spoken := self._spoken.clean(sentence):
                    await self._say(sentence, spoken)

    async def _say(self, written: str, spoken: str) -> None:
        self._mark("first_sentence")
        number = self._sentences
        self._sentences += 1
        await self._out.emit("sentence", sentence=number, text=written, spoken=spoken)
        if not self._out.stopped:
            self._numbers[self._speech.say(spoken).number] = number
            self._aloud = self._aloud or any(map(str.isalnum, spoken))
            self._said.append(written)

    # the audio side

    async def _listen(self) -> None:
        sound = self._encoder()
        number = size = 0
        try:
            async with aclosing(self._speech.events()) as events:
                async for event in events:
                    number = self._numbers[event.sentence.number]
                    if isinstance(event, Audio):
                        size += len(event.pcm)
                        for start in range(0, len(event.pcm), MAX_CHUNK):
                            pcm = event.pcm[start : start + MAX_CHUNK]
                            await self._chunk(number, sound.feed(pcm), len(pcm))
                    elif isinstance(event, Finished):
                        await self._chunk(number, sound.end())
                        await self._out.emit(
                            "sentence_end", sentence=number, duration_s=seconds(size), complete=event.complete
                        )
                        sound, size = self._encoder(), 0
        except SpeechError:
            await self._chunk(number, sound.end())  # what came before is kept
            raise
        self._spoken_to_the_end = True
        if self._aloud and not self._out.pcm:
            raise SpeechError(
                "no_audio",
                "the speech container completed every sentence without any audio; expected were frames of PCM between "
                "synthesis_start and synthesis_complete. Does it send audio inside of JSON?",
            )

    def _encoder(self) -> Encoder:
        return encoder(self._format, SAMPLE_RATE)

    async def _chunk(self, sentence: int, data: bytes, pcm: int = 0) -> None:
        """Send audio that was made from `pcm` bytes of PCM."""
        if data and not self._out.stopped:
            self._mark("first_audio")
        await self._out.audio(data, pcm, sentence=sentence, format=self._format)


def _generator(stream: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    """Give the agent's stream its real type, which has aclose()."""
    return cast("AsyncGenerator[Any]", stream)


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`; a CancelledError that nobody asked for is a failure like any other.

    One that gets away would end its task in silence, and the other side would wait for it for ever.
    """
    try:
        await work
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            raise RuntimeError("something that the agent awaited was cancelled") from cancelled
        raise
