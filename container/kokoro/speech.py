"""Speech: an utterance to PCM frames, sentence by sentence, without ever blocking the event loop."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future
from typing import Protocol

import numpy as np

from container.kokoro.engine import Engine
from container.kokoro.errors import RequestError, SynthesisError
from container.kokoro.messages import Utterance
from container.kokoro.pcm import MODEL_RATE, Framer, Samples
from container.kokoro.phonemes import Reading
from container.kokoro.resampling import Resampler
from container.kokoro.splitting import pieces
from container.kokoro.voices import DEFAULT_VOICE, is_british
from container.kokoro.worker import OverloadedError, Worker

WARM_UP = "Hello there."
AUDIBLE = 0.01
"""Speech peaks far above this (1.0 is full scale)."""
MAX_FAILURES = 3
"""So many failed engine calls in a row mean that the model is broken, and that /ping has to say so."""

_log = logging.getLogger(__name__)


class Reader(Protocol):
    """What turns text into phonemes: phonemes.Phonemizer."""

    def read(self, text: str, *, british: bool) -> Reading:
        """Return the runs of phonemes in `text`."""
        ...


class Speech:
    """A loaded engine and its phonemizer, shared by all sessions."""

    def __init__(self, engine: Engine, reader: Reader) -> None:
        self._engine = engine
        self._reader = reader
        self._worker = Worker()
        self._failures = 0

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
        """Whether the last sentences all failed."""
        return self._failures >= MAX_FAILURES

    def stop(self) -> None:
        """End the thread that computes."""
        self._worker.stop()

    def warm_up(self) -> None:
        """Speak once, on the caller's thread. Raises SynthesisError, also when nothing is heard."""
        samples, _ = self._speak_piece(WARM_UP, DEFAULT_VOICE, 1.0)
        if np.abs(samples).max(initial=0.0) < AUDIBLE:
            raise SynthesisError(f"the warm-up text was spoken as silence ({len(samples)} samples)")

    def _speak_piece(self, text: str, voice: str, speed: float) -> tuple[Samples, int]:
        """Speak one piece: float samples (n,) at 24 kHz, and the number of letters that have no reading."""
        reading = self._reader.read(text, british=is_british(voice))
        try:
            parts = [self._engine.synthesise(run, voice, speed) for run in reading.runs]
            samples = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
            if not np.isfinite(samples).all():
                raise SynthesisError("the model returned samples that are no numbers")
        except Exception:
            self._failures += 1
            raise
        self._failures = 0 if parts else self._failures
        return samples, len(reading.unspoken)

    def utter(self, utterance: Utterance) -> "Delivery":
        """Begin to speak `utterance`. Nothing is computed before its frames are asked for."""
        return Delivery(self, utterance)

    def submit(self, text: str, utterance: Utterance, *, admitted: bool) -> Future[tuple[Samples, int]]:
        """Queue one piece of `utterance`. Raises RequestError when too much is queued and it is not `admitted` yet."""
        try:
            return self._worker.submit(
                lambda: self._speak_piece(text, utterance.voice, utterance.speed), admitted=admitted
            )
        except OverloadedError as error:
            raise RequestError(
                "overloaded", f"{error}; try again later", request_id=utterance.request_id, status=503
            ) from error


def _slices(samples: Samples) -> Iterator[Samples]:
    """Yield 250 ms at a time: converting the rate of a whole sentence would hold up the event loop."""
    for start in range(0, len(samples), MODEL_RATE // 4):
        yield samples[start : start + MODEL_RATE // 4]


class Delivery:
    """The audio of one utterance on its way out."""

    def __init__(self, speech: Speech, utterance: Utterance) -> None:
        self._speech = speech
        self._utterance = utterance
        self._framer = Framer(utterance.sample_rate)
        self.unspoken = 0
        """Letters so far that have no reading in English."""

    @property
    def seconds(self) -> float:
        """Length of the audio handed out so far."""
        return self._framer.seconds

    async def frames(self) -> AsyncGenerator[bytes]:
        """Yield PCM16 frames as soon as their sentence is spoken; the next one is computed meanwhile.

        Close the generator to stop: a sentence that waits is dropped, one under way is finished and thrown away.
        Raises RequestError, with the code `synthesis_failed` when the model failed.
        """
        rate = self._utterance.sample_rate
        resampler = None if rate == MODEL_RATE else Resampler(rate)
        waiting = iter(pieces(self._utterance.text))
        job = self._submit(next(waiting, None), admitted=False)
        try:
            while job is not None:
                samples, unspoken = await self._result(job)
                self.unspoken += unspoken
                job = self._submit(next(waiting, None), admitted=True)
                for part in _slices(samples) if resampler else (samples,):
                    for frame in self._framer.frames(resampler.feed(part) if resampler else part):
                        yield frame
            for frame in self._framer.frames(resampler.flush()) if resampler else ():
                yield frame
        finally:
            if job is not None:
                job.cancel()

    def _submit(self, text: str | None, *, admitted: bool) -> Future[tuple[Samples, int]] | None:
        return None if text is None else self._speech.submit(text, self._utterance, admitted=admitted)

    async def _result(self, job: Future[tuple[Samples, int]]) -> tuple[Samples, int]:
        try:
            return await asyncio.wrap_future(job)
        except Exception as error:
            # what went wrong inside is for the log; the client learns that it was not its fault
            _log.exception("synthesis failed (request %r)", self._utterance.request_id)
            raise RequestError(
                "synthesis_failed",
                "the model failed on this text; the session goes on",
                request_id=self._utterance.request_id,
                status=500,
            ) from error
