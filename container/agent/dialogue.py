"""The protocol of a speech container, without any I/O: sentences out, control messages and PCM in.

A control message is a payload that as a whole is one JSON object, whatever its data type; everything else is audio. A
text that is no JSON object (yet) is never played: it may be the head of a control message that somebody cut.
"""

import json
from collections import deque
from dataclasses import dataclass
from typing import Any

from container.agent.speech_errors import SpeechError

__all__ = ["CLOSE", "Audio", "Begun", "Dialogue", "Event", "Finished", "Sentence"]

CLOSE = json.dumps({"type": "close"}).encode()

MAX_AHEAD = 8
"""Sentences that the container may have in hand, so that none waits for the next one to arrive."""

_MAX_CONTROL = 65_536
_SAMPLE_RATE = 24_000
"""Kokoro's, where none is asked for."""
_SPARE_S = 30.0
"""A sentence may last for so long, and a second for each of its characters: several times what any voice needs."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One text to be spoken; `number` counts from 0 within a session."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The container has taken up a sentence."""

    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Audio:
    """Whole samples: signed 16-bit little-endian mono."""

    sentence: Sentence
    pcm: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """A sentence is over. `complete` is False where its audio broke off."""

    sentence: Sentence
    complete: bool = True


Event = Begun | Audio | Finished


class Dialogue:
    """What was said, what is still to be said, and what the container answers to it, in order."""

    def __init__(self, *, voice: str | None = None, speed: float | None = None, sample_rate: int | None = None) -> None:
        options = {"voice": voice, "speed": speed, "sample_rate": sample_rate}
        self._options = {name: value for name, value in options.items() if value is not None}
        self._waiting: deque[Sentence] = deque()
        self._asked: deque[Sentence] = deque()
        self._count = 0
        self._begun = False
        """Whether the first asked sentence has been taken up, and how many bytes of audio have come of it."""
        self._heard = 0
        self._bytes_per_s = 2 * (sample_rate or _SAMPLE_RATE)
        self._odd = b""
        self._text = b""
        self.complaint: SpeechError | None = None
        """What the container said about the session as a whole: that it is idle, or one too many."""

    @property
    def idle(self) -> bool:
        """Whether all that was said has been answered."""
        return not self._waiting and not self._asked

    @property
    def begun(self) -> bool:
        """Whether the container is at work on a sentence."""
        return self._begun

    def say(self, text: str) -> Sentence:
        """Add a sentence."""
        sentence = Sentence(self._count, text)
        self._count += 1
        self._waiting.append(sentence)
        return sentence

    def next_message(self) -> bytes | None:
        """Return the next payload to send; None while the container has enough to do."""
        if not self._waiting or len(self._asked) >= MAX_AHEAD:
            return None
        sentence = self._waiting.popleft()
        self._asked.append(sentence)
        message = {"text": sentence.text, "request_id": str(sentence.number), **self._options}
        return json.dumps(message).encode()

    def drop(self) -> Finished | None:
        """Take note that the session is lost: what was not heard is to be said again, what was partly heard is not.

        Returns the end of the sentence that broke off, if there is one.
        """
        cut = Finished(self._asked.popleft(), complete=False) if self._heard else None
        self._waiting.extendleft(reversed(self._asked))
        self._asked.clear()
        self._begun, self._heard, self._odd, self._text = False, 0, b"", b""
        self.complaint = None
        return cut

    def clear(self) -> None:
        """Forget everything that was said."""
        self.drop()
        self._waiting.clear()

    def receive(self, data: bytes, *, text: bool = False) -> Event | None:
        """Take one payload; `text` where its data type is UTF8.

        Returns None where it means nothing yet, or nothing to us. Raises SpeechError for what breaks the protocol.
        """
        if self._text or (text and data):
            return self._receive_text(data)
        message = _control(data)
        return self._audio(data) if message is None else self._answer(message)

    def _receive_text(self, data: bytes) -> Event | None:
        self._text += data
        message = _control(self._text)
        if message is not None:
            self._text = b""
            return self._answer(message)
        if not self._text.lstrip().startswith(b"{") or len(self._text) > _MAX_CONTROL:
            shown = self._text[:60].decode("utf-8", "replace")
            self._text = b""
            raise SpeechError(
                "protocol",
                f"the speech container sent a text that is not a JSON object: {shown!r}; expected synthesis_start, "
                "synthesis_complete or error (audio belongs into binary frames)",
            )
        return None

    def _answer(self, message: dict[str, Any]) -> Event | None:
        kind = message.get("type")
        if kind not in ("synthesis_start", "synthesis_complete", "error"):
            return None  # a message that a later version may know
        if kind == "error":
            self._refused(message)
            return None
        sentence = self._current(message)
        if kind == "synthesis_start":
            # said once more it is no sign of life
            again, self._begun = self._begun, True
            return None if again else Begun(sentence)
        self._asked.popleft()
        self._begun, self._heard, self._odd = False, 0, b""
        return Finished(sentence)

    def _refused(self, message: dict[str, Any]) -> None:
        """Raise SpeechError for an error about a sentence; note one about the session, which then ends."""
        text, code = message.get("message"), message.get("code")
        error = SpeechError(
            code if isinstance(code, str) else "refused",
            f"the speech container answered with an error: {text if isinstance(text, str) else message}",
        )
        if message.get("request_id") in [str(sentence.number) for sentence in self._asked]:
            raise error
        self.complaint = error

    def _current(self, message: dict[str, Any]) -> Sentence:
        if not self._asked:
            raise SpeechError("protocol", f"the speech container sent {message.get('type')} though nothing was asked")
        sentence = self._asked[0]
        answered = message.get("request_id", "unknown")
        if answered not in ("unknown", str(sentence.number)):
            raise SpeechError(
                "protocol",
                f"the speech container answered request {answered!r}, expected was {str(sentence.number)!r}: "
                "answers must come in the order of the requests",
            )
        return sentence

    def _audio(self, data: bytes) -> Audio | None:
        if not self._asked:
            raise SpeechError(
                "protocol", f"the speech container sent {len(data)} bytes of audio though nothing was asked"
            )
        data = self._odd + data
        whole = len(data) - len(data) % 2
        self._odd = data[whole:]
        if not whole:
            return None
        self._begun = True
        self._heard += whole
        sentence = self._asked[0]
        if self._heard > (limit := _SPARE_S + len(sentence.text)) * self._bytes_per_s:
            raise SpeechError(
                "too_much_audio",
                f"the speech container sent more than {limit:g} s of audio for a sentence of {len(sentence.text)} "
                "characters; expected was synthesis_complete at its end. Is it still in step with the requests?",
            )
        return Audio(sentence, data[:whole])


def _control(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that `data` is, None if it is anything else."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
