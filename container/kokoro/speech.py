"""Speech: an utterance to PCM frames, piece by piece, without ever blocking the event loop."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from container.kokoro import pcm
from container.kokoro.company import Company
from container.kokoro.engine import Engine
from container.kokoro.errors import RequestError, SynthesisError
from container.kokoro.languages import ENGLISH
from container.kokoro.logs import where
from container.kokoro.markup import plain
from container.kokoro.messages import Utterance
from container.kokoro.pace import Outlook, Pace
from container.kokoro.pcm import MODEL_RATE, Framer, Samples
from container.kokoro.phonemes import Reading
from container.kokoro.plan import Piece, Plan
from container.kokoro.playhead import Playhead
from container.kokoro.resampling import Resampler
from container.kokoro.splitting import letters
from container.kokoro.voices import DEFAULT_VOICE, language
from container.kokoro.worker import OverloadedError, Worker
from container.kokoro.written import addresses

WARM_UP = "Hello there."
AUDIBLE = 0.01
"""Speech peaks far above this (1.0 is full scale)."""
MAX_FAILURES = 3
"""So many failed engine calls in a row mean that the model is broken, and that /ping has to say so."""

_log = logging.getLogger(__name__)


class Reader(Protocol):
    """What turns text into phonemes: phonemes.Phonemizer."""

    def read(self, text: str, language: str) -> Reading:
        """Return the runs of phonemes in `text`, which holds no markup any more."""
        ...


@dataclass(frozen=True)
class Spoken:
    """One piece: float samples (n,) at 24 kHz, the number of letters without a reading, and what it cost."""

    samples: Samples
    unspoken: int
    computing_s: float


class Speech:
    """A loaded engine and its phonemizer, shared by all sessions."""

    def __init__(
        self,
        engine: Engine,
        reader: Reader,
        *,
        max_waiting: int = 64,
        first_clause: bool = True,
        log_text: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._reader = reader
        self._worker = Worker(max_waiting, engine.together)
        self._failures = 0
        self._pace = Pace()
        self._company = Company()
        self._noting = threading.Lock()
        self.clock = clock
        self._planning = asyncio.Lock()
        self.listeners = 0
        """Requests that are being spoken."""
        self.first_clause = first_clause
        """Whether a long first sentence is cut at a clause."""
        self.log_text = log_text
        """Whether a client's text may appear in the log."""

    @property
    def voices(self) -> list[str]:
        """Names of the voices on offer."""
        return self._engine.voice_names

    @property
    def description(self) -> str:
        """Engine and weights, for people."""
        return self._engine.description

    @property
    def is_broken(self) -> bool:
        """Whether the model failed on the last sentences, all of them."""
        return self._failures >= MAX_FAILURES

    @property
    def waiting(self) -> int:
        """Pieces that wait for their turn."""
        return self._worker.waiting

    def stop(self) -> None:
        """End the threads that compute."""
        self._worker.stop()

    @property
    def factor(self) -> float:
        """Seconds of computing for a second of audio: a running estimate, on the safe side."""
        return self._pace.factor

    def outlook(self, utterance: Utterance) -> Outlook:
        """Return what pieces of `utterance` will cost and play, beside all others that are being spoken."""
        return self._pace.outlook(
            language(utterance.voice), utterance.speed, -(-self.listeners // self._engine.together)
        )

    @asynccontextmanager
    async def planning(self) -> AsyncGenerator[None]:
        """Choose a piece inside of this: texts that cost much to look at come one at a time, and pings between them."""
        async with self._planning:
            yield
            await asyncio.sleep(0)  # choosing waits for nothing: without this nobody would find the lock taken

    def warm_up(self) -> None:
        """Speak twice, on the caller's thread: the first time is no measure of the pace.

        Raises SynthesisError, also when nothing is heard.
        """
        for _ in range(2):
            self._pace = Pace()
            samples = self.speak(Piece(WARM_UP), Utterance(WARM_UP, DEFAULT_VOICE)).samples
        if np.abs(samples).max(initial=0.0) < AUDIBLE:
            raise SynthesisError(f"the warm-up text was spoken as silence ({len(samples)} samples)")

    def speak(self, piece: Piece, utterance: Utterance, delivery: "Delivery | None" = None) -> Spoken:
        """Speak one piece of `utterance`; stops between two runs of the model once `delivery` is abandoned."""
        begun = self.clock()
        place = self._company.join()
        try:
            reading = self._reader.read(piece.text, language(utterance.voice))
            parts = self._synthesise(reading, utterance, delivery)
        finally:
            beside = self._company.leave(place)
        samples = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
        computing_s = self.clock() - begun
        if len(parts) == len(reading.runs):
            size, audio_s = letters(piece.text)[-1], len(samples) / MODEL_RATE
            with self._noting:  # what several pieces took side by side is shared out among them
                self._pace.observe(size, language(utterance.voice), utterance.speed, audio_s, computing_s / beside)
        lead, tail = (None if part is None else part / utterance.speed for part in (piece.lead_s, piece.tail_s))
        samples = pcm.trimmed(samples, lead, tail)
        return Spoken(samples, len(reading.unspoken), computing_s)

    def _synthesise(self, reading: Reading, utterance: Utterance, delivery: "Delivery | None") -> list[Samples]:
        """Return the samples of each run, and count failures: the model's alone, a reader may fail in one language."""
        parts: list[Samples] = []
        try:
            for run in reading.runs:
                if delivery is not None and delivery.abandoned:
                    break
                samples = self._engine.synthesise(run, utterance.voice, utterance.speed)
                if not np.isfinite(samples).all():
                    raise SynthesisError("the model returned samples that are no numbers")
                parts.append(samples)
        except Exception:
            self._failures += 1
            raise
        self._failures = 0 if parts else self._failures
        return parts

    def utter(self, utterance: Utterance) -> "Delivery":
        """Begin to speak `utterance`. Nothing is computed before its frames are asked for."""
        return Delivery(self, utterance)

    def submit(self, piece: Piece, delivery: "Delivery", deadline: float, *, admitted: bool) -> Future[Spoken]:
        """Queue one piece. Raises RequestError when too much is queued and its request is not `admitted` yet."""
        utterance = delivery.utterance
        try:
            return self._worker.submit(
                lambda: self.speak(piece, utterance, delivery), deadline=deadline, admitted=admitted
            )
        except OverloadedError as error:
            raise RequestError(
                "overloaded", f"{error}; try again later", request_id=utterance.request_id, status=503
            ) from error


def _words(utterance: Utterance) -> str:
    """Return what is spoken of a text, which is what is cut: a cut inside a tag or an address would have both read out.

    It holds up the event loop for a few milliseconds at 20,000 characters, for 60 at the worst of signs.
    """
    text = plain(utterance.text)
    return addresses(text) if language(utterance.voice) in ENGLISH else text


def _slices(samples: Samples) -> Iterator[Samples]:
    """Yield 250 ms at a time: converting the rate of a whole sentence would hold up the event loop."""
    for start in range(0, len(samples), MODEL_RATE // 4):
        yield samples[start : start + MODEL_RATE // 4]


class Delivery:
    """The audio of one utterance on its way out, and what became of it."""

    def __init__(self, speech: Speech, utterance: Utterance) -> None:
        self._speech = speech
        self.utterance = utterance
        self._framer = Framer(utterance.sample_rate)
        self._clock = speech.clock
        self._begun = self._clock()
        self._playhead = Playhead(self._begun)
        self.waiting = speech.waiting
        """Pieces of others that waited when this began."""
        self.unspoken = 0
        """Letters so far that have no reading in this language."""
        self.abandoned = False
        """Set when nobody wants the rest any more; read by the thread that computes."""
        self.first_audio_s: float | None = None
        """From the beginning to the first frame; None until then."""
        self.computing_s = 0.0
        self.computed_s = 0.0
        """Length of the audio computed so far; `computing_s` is what it took."""
        self.dry_s = 0.0
        """Silence that broke into the audio, where the listener plays at once whatever there is."""

    @property
    def seconds(self) -> float:
        """Length of the audio handed out so far."""
        return self._framer.seconds

    @property
    def elapsed_s(self) -> float:
        """Time since the beginning."""
        return self._clock() - self._begun

    async def frames(self) -> AsyncGenerator[bytes]:
        """Yield PCM16 frames as soon as their piece is spoken; the next one is computed meanwhile.

        Close the generator to stop: a piece that waits is dropped, one under way ends with its run of the model and is
        thrown away. Raises RequestError, with the code `synthesis_failed` when the model failed.
        """
        rate = self.utterance.sample_rate
        resampler = None if rate == MODEL_RATE else Resampler(rate)
        speech = self._speech
        outlook = (lambda: speech.outlook(self.utterance)) if speech.first_clause else None
        speech.listeners += 1
        job: Future[Spoken] | None = None
        try:
            async with speech.planning():
                plan = Plan(_words(self.utterance), outlook)
                job = self._submit(plan, admitted=False)
            while job is not None:
                spoken = await self._result(job)
                async with speech.planning():
                    job = self._submit(plan, admitted=True)
                for frame in self._framed(spoken.samples, resampler, last=job is None):
                    if self.first_audio_s is None:
                        self.first_audio_s = self.elapsed_s
                    yield frame
        finally:
            speech.listeners -= 1
            self.abandoned = True
            if job is not None:
                job.cancel()

    def _framed(self, samples: Samples, resampler: Resampler | None, *, last: bool) -> Iterator[bytes]:
        """Yield the frames of one piece; of the `last` one with what the change of the rate still holds."""
        if resampler is None:
            yield from self._framer.frames(samples)
            return
        for part in _slices(samples):
            yield from self._framer.frames(resampler.feed(part), more=True)
        yield from self._framer.frames(resampler.flush() if last else samples[:0])

    def _submit(self, plan: Plan, *, admitted: bool) -> Future[Spoken] | None:
        piece = plan.next(self._playhead.ahead_s(self._clock()) if self.computed_s else None)
        if piece is None:
            return None
        return self._speech.submit(piece, self, self._playhead.dry_at, admitted=admitted)

    async def _result(self, job: Future[Spoken]) -> Spoken:
        try:
            spoken = await asyncio.wrap_future(job)
        except Exception as error:
            # what went wrong inside is for the log; the client learns that it was not its fault
            told = str(error) if self._speech.log_text or isinstance(error, SynthesisError) else where(error)
            text = f" on {self.utterance.text!r}" if self._speech.log_text else ""
            _log.error("synthesis failed (request %r)%s: %s", self.utterance.request_id, text, told)
            raise RequestError(
                "synthesis_failed",
                "the model failed on this text; the session goes on",
                request_id=self.utterance.request_id,
                status=500,
            ) from error
        self.unspoken += spoken.unspoken
        self.computing_s += spoken.computing_s
        seconds = len(spoken.samples) / MODEL_RATE
        if seconds:
            silence = self._playhead.add(seconds, self._clock())
            self.dry_s += silence if self.computed_s else 0.0
        self.computed_s += seconds
        return spoken
