"""Reading a container's answer: what is control, what is audio, and when it is over.

The rule: a payload is control only if the *whole* of it parses as a JSON object; PCM that begins with ``{`` stays
audio. A container that breaks the rule (control cut into pieces, or glued to audio) is still understood here, and how
it broke the rule is kept, so that one check can complain about it and the others can go on.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from contract_tests.audioformat import UndecodableError
from contract_tests.client import Ended, Failed, Part, Silence
from contract_tests.mark import AnyReplyMark, JsonMark, Mark, SilenceMark, TextMark
from contract_tests.profile import Profile

__all__ = ["Answer", "Control", "Reader", "json_object"]

Role = Literal["start", "end", "error", "other"]
How = Literal["whole", "split", "glued"]
_LONGEST_CONTROL = 65_536
_LONGEST_EVENT = 16 << 20
"""Bytes of a message that may carry audio in base64."""


def json_object(payload: bytes, longest: int = _LONGEST_CONTROL) -> dict[str, object] | None:
    """Return the JSON object that the *whole* payload is, None if it is anything else."""
    # cheap refusal first: a second of PCM must not go through a JSON parser
    if payload.lstrip()[:1] != b"{" or len(payload) > longest:
        return None
    try:
        value = json.loads(payload)
    except ValueError:  # UnicodeDecodeError is one too
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Control:
    """One control message: what it says, when it came (seconds on the session's clock) and in what shape."""

    role: Role
    body: object
    at: float
    data_type: str | None
    how: How
    parts: int

    def __str__(self) -> str:
        text = json.dumps(self.body, ensure_ascii=False) if isinstance(self.body, dict) else str(self.body)
        return text if len(text) <= 200 else f"{text[:200]}…"


@dataclass(slots=True)
class Answer:
    """What came back for one request. ``outcome`` tells how the reading ended; times are on the session's clock."""

    request_id: str
    sent_at: float
    controls: list[Control] = field(default_factory=list)
    audio: list[bytes] = field(default_factory=list)
    """As PCM16, little-endian, whatever it was on the way."""
    audio_parts: list[Part] = field(default_factory=list)
    """The same with its times; ``data`` is the PCM16."""
    undecodable: list[str] = field(default_factory=list)
    """What is wrong with messages that should carry audio and do not."""
    parts: list[Part] = field(default_factory=list)
    order: list[Role | Literal["audio"]] = field(default_factory=list)
    """What came, in order; audio in a row counts once."""
    outcome: Literal["complete", "error"] | Ended | Failed | Silence = field(default_factory=lambda: Silence(0.0))

    @property
    def complete(self) -> bool:
        """Whether the answer came to its regular end."""
        return self.outcome == "complete"

    @property
    def end(self) -> Control | None:
        """The message that ended the answer."""
        return next((control for control in reversed(self.controls) if control.role == "end"), None)

    @property
    def error(self) -> Control | None:
        """The first error message."""
        return next((control for control in self.controls if control.role == "error"), None)

    @property
    def seconds(self) -> float:
        """From the request to the last part, 0 if none came."""
        return self.parts[-1].at - self.sent_at if self.parts else 0.0

    @property
    def longest_gap(self) -> float:
        """The longest wait for a part, the first one included; seconds."""
        times = [self.sent_at, *(part.at for part in self.parts)]
        return max((after - before for before, after in pairwise(times)), default=0.0)

    def describe(self) -> str:
        """Say in one sentence what came back."""
        got = f"{len(self.parts)} part{'s' if len(self.parts) != 1 else ''}"
        if self.outcome == "complete":
            audio = f", {sum(map(len, self.audio))} bytes of audio" if self.audio else ""
            return f"a complete answer ({got}{audio}, {self.seconds:.2f} s)"
        if self.outcome == "error":
            return f"the error message {self.error}"
        before = f"{got}, then " if self.parts else "no reply: "
        return f"{before}{self.outcome}"


class Reader:
    """Takes the parts of one answer in order and sorts them into control messages and audio."""

    def __init__(self, profile: Profile, answer: Answer) -> None:
        self._profile = profile
        self.answer = self._answer = answer
        self._pending: list[Part] = []

    @property
    def ends_on_silence(self) -> float | None:
        """Seconds of silence that end the answer, where the profile says so and something has come."""
        end = self._profile.end
        return end.seconds if isinstance(end, SilenceMark) and self._answer.parts else None

    def feed(self, part: Part) -> bool:
        """Take the next part; afterwards ``answer.outcome`` says whether the answer is over.

        Returns whether it is audio or one of the messages that the profile knows.
        """
        answer = self._answer
        before, told = len(answer.audio) + len(answer.undecodable), len(answer.controls)
        waits = isinstance(answer.outcome, Silence)
        self._sort(part)
        known = any(control.role != "other" for control in answer.controls[told:])
        over = waits and not isinstance(answer.outcome, Silence)
        return known or over or len(answer.audio) + len(answer.undecodable) > before

    def _sort(self, part: Part) -> None:
        answer = self._answer
        answer.parts.append(part)
        if isinstance(self._profile.end, AnyReplyMark):
            answer.outcome = "complete"
        body = self._whole(part)
        if body is not None:
            self._flush()
            if not self._event_with_audio(body, part):
                self._control(body, part, "whole", 1, part.data.decode("utf-8", "replace"))
        elif self._is_speech_protocol and not self._split(part) and not self._glued(part):
            self._text_or_audio(part)

    @property
    def _is_speech_protocol(self) -> bool:
        return isinstance(self._profile.end, JsonMark)

    def _whole(self, part: Part) -> object | None:
        audio = self._profile.audio
        body = json_object(part.data, _LONGEST_EVENT if audio and audio.event else _LONGEST_CONTROL)
        if body is not None or self._is_speech_protocol:
            return body
        try:
            return part.data.decode("utf-8")
        except UnicodeDecodeError:
            self._keep(part.data, part)
            return None

    def _event_with_audio(self, body: object, part: Part) -> bool:
        """Take the audio out of a message that carries some; tell whether it is one."""
        audio = self._profile.audio
        try:
            pcm = audio.carried_by(body, self._answer.request_id) if audio else None
        except UndecodableError as problem:
            self._answer.undecodable.append(str(problem))
            return True
        if pcm is None:
            return False
        self._heard(pcm, part)
        return True

    def _role(self, body: object, text: str = "") -> Role:
        """Return what a control message is. ``text``: the same, unparsed, for marks that are regular expressions."""
        profile, request_id = self._profile, self._answer.request_id
        marks: tuple[tuple[Role, Mark | None], ...] = (
            ("error", profile.error),
            ("end", profile.end),
            ("start", profile.start),
        )
        for role, mark in marks:
            if mark is not None and mark.matches(text if isinstance(mark, TextMark) else body, request_id):
                return role
        return "other"

    def _control(self, body: object, part: Part, how: How, parts: int, text: str = "") -> None:
        role = self._role(body, text)
        self._answer.order.append(role)
        self._answer.controls.append(Control(role, body, part.at, part.data_type, how, parts))
        if role == "end":
            self._answer.outcome = "complete"
        elif role == "error":
            self._answer.outcome = "error"

    def _split(self, part: Part) -> bool:
        """Follow a control message that comes in pieces: it begins with a brace and is text throughout."""
        if not self._pending and not part.data.startswith(b"{"):
            return False
        pending = [*self._pending, part]
        joined = b"".join(piece.data for piece in pending)
        body = json_object(joined)
        if body is not None and (part.data_type == "UTF8" or self._role(body) != "other"):
            self._pending = []
            self._control(body, part, "split", len(pending))
            return True
        if len(joined) > _LONGEST_CONTROL or not _is_text(joined):
            self._flush()
            return False
        self._pending = pending
        return True

    def _flush(self) -> None:
        """What looked like the beginning of a control message was none."""
        pending, self._pending = self._pending, []
        for part in pending:
            if not self._glued(part):
                self._text_or_audio(part)

    def _glued(self, part: Part) -> bool:
        """Find control messages that share a payload with something else."""
        data = part.data
        found = False
        begin = data.find(b'{"')
        while begin >= 0:
            stop = _object_end(data, begin, lambda body: self._role(body) != "other")
            if stop is not None:
                found = True
                body = json.loads(data[begin:stop])
                self._audio(data[:begin], part)
                self._control(body, part, "glued", 1)
                data, begin = data[stop:], -1
            begin = data.find(b'{"', begin + 1)
        if found:
            self._audio(data, part)
        return found

    def _text_or_audio(self, part: Part) -> None:
        if part.data_type == "UTF8":
            text = part.data.decode("utf-8", "replace")
            self._answer.order.append("other")
            self._answer.controls.append(Control("other", text, part.at, part.data_type, "whole", 1))
        else:
            self._audio(part.data, part)

    def _audio(self, data: bytes, part: Part) -> None:
        audio = self._profile.audio
        self._heard(audio.pcm16(data) if audio else data, part)

    def _heard(self, pcm: bytes, part: Part) -> None:
        if pcm:
            if self._answer.order[-1:] != ["audio"]:
                self._answer.order.append("audio")
            self._keep(pcm, part)

    def _keep(self, pcm: bytes, part: Part) -> None:
        self._answer.audio.append(pcm)
        self._answer.audio_parts.append(replace(part, data=pcm))


def _is_text(data: bytes) -> bool:
    """Tell whether ``data`` is UTF-8 so far (its last character may be cut) without control characters."""
    text = data[: len(data) - 3].decode("utf-8", "replace") if len(data) > 3 else ""
    return "\ufffd" not in text and text.isprintable()


def _object_end(data: bytes, begin: int, wanted: Callable[[object], bool]) -> int | None:
    """Return where the wanted JSON object that begins at ``begin`` ends, None if there is none."""
    stop = data.find(b"}", begin)
    while 0 <= stop < begin + _LONGEST_CONTROL:
        body = json_object(data[begin : stop + 1])
        if body is not None:
            return stop + 1 if wanted(body) else None
        stop = data.find(b"}", stop + 1)
        if stop - begin > 4096:  # control messages are short; random PCM holds many braces
            return None
    return None
