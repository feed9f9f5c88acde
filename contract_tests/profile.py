"""Profiles: how to make a good request for a container, and how its answers are recognised."""

import array
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from contract_tests.audioformat import ENCODINGS, AudioFormat, Encoding
from contract_tests.mark import JsonMark, Mark, read_mark
from contract_tests.settings import ProfileError, Table, profile_names, read_profile

__all__ = [
    "AudioFormat",
    "CancelRule",
    "CloseRule",
    "InvocationRule",
    "Profile",
    "ProfileError",
    "RequestTemplate",
    "builtin_profiles",
    "load",
]

_PACKAGE = "contract_tests"
_DEFAULT_SENTENCES = ("Hello there.", "How are you today?", "This is the third sentence.")
_DEFAULT_BAD_MESSAGES = ("not json", "{}", '{"type": "Reset"}')
_DEFAULT_REPLY_TIMEOUT_S = 5.0
_PLACEHOLDERS = ("id", "text", "voice")
_SECONDS_PER_CHARACTER = 0.05
_BASE64 = 'Audio in JSON messages: event = { json = { type = "audio.delta" } }, member = "delta" (it holds base64).'
# brackets, quotes and a backslash: what breaks a request whose values are not escaped
_AWKWARD = 'a "quoted" \\ text {text} with { braces }'


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """The text of a good request, with the placeholders ``{id}``, ``{text}`` and, optional, ``{voice}``.

    ``format`` says how the values are put in: ``json`` escapes them as the inside of a JSON string, ``plain`` does not.
    """

    template: str
    format: str
    sentences: tuple[str, ...]
    voices: tuple[str, ...]
    then: tuple[str, ...] = ()
    """Messages that go right behind it, for protocols that say in a second one that the request is whole."""
    sample_rate: int = 0
    """Where the request itself is audio (format ``pcm16``): samples per second; else 0."""

    @property
    def is_audio(self) -> bool:
        """Whether the request is audio in BINARY frames, and not a text."""
        return self.format == "pcm16"

    def pcm(self, text: str | None = None) -> bytes:
        """Return audio as long as it takes to say ``text``: a tone that rises and falls about four times a second."""
        seconds = len(self.sentences[0] if text is None else text) * _SECONDS_PER_CHARACTER
        return _tone(round(seconds * self.sample_rate), self.sample_rate)

    def follow_ups(self, request_id: str) -> list[str]:
        """Return the messages that go behind the request ``request_id``."""
        return [message.replace("{id}", json.dumps(request_id)[1:-1]) for message in self.then]

    def render(self, request_id: str, text: str | None = None, voice: str | None = None) -> str:
        """Return the request that asks for ``text`` (default: the first sentence); of audio, what it is."""
        if self.is_audio:
            return f"{len(self.pcm(text)):,} bytes of PCM16 at {self.sample_rate} Hz in BINARY frames"
        values = {
            "id": request_id,
            "text": self.sentences[0] if text is None else text,
            "voice": voice or (self.voices[0] if self.voices else ""),
        }

        def fill(match: re.Match[str]) -> str:
            value = values[match[1]]
            return value if self.format == "plain" else json.dumps(value, ensure_ascii=False)[1:-1]

        # one pass: a value that itself holds "{text}" is not filled again
        return re.sub(r"\{(" + "|".join(_PLACEHOLDERS) + r")\}", fill, self.template)

    def render_with(self, request_id: str, member: str, value: object) -> str:
        """Return the JSON request for the first sentence with one member set; NaN is written as Python writes it."""
        document = json.loads(self.render(request_id))
        document[member] = value
        return json.dumps(document, ensure_ascii=False)

    @property
    def long_text(self) -> str:
        """All sentences in a row: something to be busy with for a while."""
        return " ".join(self.sentences)


@cache
def _tone(count: int, sample_rate: int) -> bytes:
    steps = (2 * math.pi * number / sample_rate for number in range(count))
    wave = (6000 * math.sin(200 * step) * (1 + math.sin(4 * step)) for step in steps)
    return array.array("h", map(int, wave)).tobytes()


@dataclass(frozen=True, slots=True)
class CloseRule:
    """The message that asks the container to end the session, and the WebSocket code it then closes with."""

    message: str
    code: int


@dataclass(frozen=True, slots=True)
class CancelRule:
    """The message that stops the request ``{id}``, and what acknowledges it.

    ``ack`` is None where it is only the end of the answer, or an error.
    """

    message: str
    ack: Mark | None

    def render(self, request_id: str) -> str:
        """Return the message that stops ``request_id``."""
        return self.message.replace("{id}", json.dumps(request_id)[1:-1])


@dataclass(frozen=True, slots=True)
class InvocationRule:
    """``POST /invocations``: a body that is answered, one that has to be refused.

    ``breaking`` is answered with 200 and then fails, None where nothing does.
    """

    good: RequestTemplate
    bad: RequestTemplate
    breaking: RequestTemplate | None


@dataclass(frozen=True, slots=True)
class Profile:
    """One protocol that the suite can judge. ``reply_timeout`` is in seconds without anything from the container.

    ``parameters`` names members of a request, each with values that the container has to refuse; ``effects`` a good
    value of such a member that changes the audio: a text its sound, a number its length.
    """

    name: str
    title: str
    path: str | None
    query: str | None
    request: RequestTemplate
    reply_timeout: float
    end: Mark
    start: Mark | None
    error: Mark | None
    bad_messages: tuple[str, ...]
    close: CloseRule | None
    cancel: CancelRule | None
    invocations: InvocationRule | None
    audio: AudioFormat | None
    parameters: Mapping[str, Sequence[str | float]]
    effects: Mapping[str, object]

    @property
    def without_audio(self) -> str | None:
        """Why nothing can be said of the audio, None where the profile says what it is."""
        return None if self.audio else f"profile {self.name!r} does not say what the audio is (no table [audio])"

    @property
    def id_member(self) -> str | None:
        """The member of an answer that carries the request's id (``a.b`` inside a), None if the profile names none."""
        return ".".join(self._id_path) or None

    @property
    def _id_path(self) -> tuple[str, ...]:
        marks = (mark for mark in (self.end, self.start, self.error) if isinstance(mark, JsonMark))
        return next((mark.id_path for mark in marks if mark.id_path), ())

    def id_of(self, body: object, default: object = None) -> object:
        """Return the id of the request that a message is about, ``default`` where it names none."""
        path = self._id_path
        for key in path:
            body = body.get(key, default) if isinstance(body, dict) else default
        return body if path else default


def builtin_profiles() -> list[str]:
    """Return the names of the profiles that come with the suite."""
    return profile_names(_PACKAGE)


def load(name_or_file: str) -> Profile:
    """Return a built-in profile by its name, or the one that stands in a TOML file.

    Raises:
        ProfileError: no such profile, or the file is not a usable profile.
    """
    return _profile(*read_profile(_PACKAGE, name_or_file, "profile"))


def _profile(root: Table, name: str) -> Profile:
    request = root.table("request") or root.fail("request", "is missing.", "It holds the template of a good request.")
    reply = root.table("reply") or root.fail("reply", "is missing.", "It says how the end of an answer is recognised.")
    bad = root.table("bad_messages")
    close = root.table("close")
    cancel = root.table("cancel")
    invocations = root.table("invocations")
    audio = root.table("audio")
    parameters = root.table("parameters")
    end = read_mark(reply, "end") or reply.fail("end", "is missing.", 'For example: end = { json = { type = "done" } }')
    request_template = _request(request)
    profile = Profile(
        name=name,
        title=root.text("title") or name,
        path=root.matching("path", "req.path", "req.path-max"),
        query=root.matching("query", "req.query", "req.query-max"),
        request=request_template,
        reply_timeout=reply.seconds("timeout", _DEFAULT_REPLY_TIMEOUT_S),
        end=end,
        start=read_mark(reply, "start"),
        error=read_mark(reply, "error"),
        bad_messages=(bad.texts("texts") if bad else None) or _DEFAULT_BAD_MESSAGES,
        close=_close(close) if close else None,
        cancel=_cancel(cancel) if cancel else None,
        invocations=_invocations(invocations, request_template) if invocations else None,
        audio=_audio(audio) if audio else None,
        parameters=_parameters(parameters, request_template) if parameters else {},
        effects=root.members("effects") or {},
    )
    _ids_are_sent(profile, {"reply": reply, "audio": audio, "cancel": cancel})
    for member in profile.effects:
        if member not in profile.parameters:
            root.fail(
                f"effects.{member}", "has no counterpart in [parameters].", "That table says what is to be refused."
            )
    for table in (request, reply, bad, close, cancel, invocations, audio, parameters, root):
        if table is not None:
            table.done()
    return profile


def _ids_are_sent(profile: Profile, tables: Mapping[str, Table | None]) -> None:
    """Refuse a profile that waits for an id which no request carries."""
    sent = "".join((profile.request.template, *profile.request.then))
    event = profile.audio.event if profile.audio else None
    waits = [("reply", "start", profile.start), ("reply", "end", profile.end), ("reply", "error", profile.error)]
    waits.append(("audio", "event", event))
    if profile.cancel is not None and "{id}" not in profile.cancel.message:
        waits.append(("cancel", "ack", profile.cancel.ack))
    for name, key, mark in waits:
        table = tables[name]
        if table is not None and mark is not None and mark.names_id and "{id}" not in sent:
            table.fail(
                key,
                "names {id}, but request.template does not hold it: no answer could ever match.",
                "Put {id} into the template, or take it out here.",
            )


def _request(table: Table) -> RequestTemplate:
    form = table.text("format") or "json"
    if form == "pcm16":
        return _audio_request(table)
    if form not in {"json", "plain"}:
        table.fail("format", f"is {form!r}, expected 'json', 'plain' or 'pcm16' (the request is audio).")
    template = table.required_text("template")
    if "{text}" not in template:
        table.fail("template", "does not hold {text}.", "That is where the sentence goes.")
    voices = table.texts("voices") or ()
    if "{voice}" in template and not voices:
        table.fail("voices", "is missing, but the template holds {voice}.", "List at least one voice.")
    if voices and "{voice}" not in template:
        table.fail("voices", "is given, but the template does not hold {voice}.")
    sentences = _sentences(table)
    request = RequestTemplate(template, form, sentences, voices, table.texts("then") or ())
    if form == "json":
        _must_be_json(table, "template", request)
    return request


def _audio_request(table: Table) -> RequestTemplate:
    rate = table.integer("sample_rate")
    if rate is None or not 8000 <= rate <= 48_000:
        table.fail("sample_rate", f"is {rate!r}, expected samples per second, 8000 to 48000.")
    return RequestTemplate("", "pcm16", _sentences(table), (), table.texts("then") or (), rate)


def _sentences(table: Table) -> tuple[str, ...]:
    given = table.texts("sentences")
    if given is None:
        return _DEFAULT_SENTENCES
    if not given or not all(given):
        table.fail("sentences", "is empty, or holds an empty text.", "List at least one sentence, or leave it out.")
    return given


def _must_be_json(table: Table, key: str, template: RequestTemplate) -> None:
    try:
        json.loads(template.render("id", _AWKWARD))
    except ValueError as error:
        table.fail(
            key,
            f"is not JSON once it is filled in ({error}).",
            "Put {text} and {id} inside JSON strings, quotes around them, or set format = 'plain'.",
        )


def _close(table: Table) -> CloseRule:
    code = table.integer("code")
    if code is not None and not 1000 <= code <= 4999:
        table.fail("code", f"is {code}, expected a WebSocket close code, 1000 to 4999.")
    return CloseRule(table.required_text("message"), 1000 if code is None else code)


def _cancel(table: Table) -> CancelRule:
    return CancelRule(table.required_text("message"), read_mark(table, "ack"))


def _invocations(table: Table, request: RequestTemplate) -> InvocationRule:
    form = table.text("format") or "json"
    if form not in {"json", "plain"}:
        table.fail("format", f"is {form!r}, expected 'json' or 'plain'.")

    def template(key: str, text: str) -> RequestTemplate:
        if "{voice}" in text and not request.voices:
            table.fail(key, "holds {voice}, but request.voices lists none.")
        body = replace(request, template=text, format=form)
        if form == "json":
            _must_be_json(table, key, body)
        return body

    good, bad = (template(key, table.required_text(key)) for key in ("body", "bad_body"))
    breaking = table.text("breaking_body")
    return InvocationRule(good, bad, template("breaking_body", breaking) if breaking else None)


def _audio(table: Table) -> AudioFormat:
    encoding = table.text("encoding") or "pcm16"
    if encoding not in ENCODINGS:
        table.fail("encoding", f"is {encoding!r}; what can be judged is {', '.join(ENCODINGS)}, each of them mono.")
    rate = table.integer("sample_rate")
    if rate is None or not 1 <= rate <= 384_000:
        table.fail("sample_rate", f"is {rate!r}, expected samples per second.")
    event, member = read_mark(table, "event"), table.text("member")
    if (event is None) != (member is None):
        missing, other = ("event", "member") if event is None else ("member", "event")
        table.fail(missing, f"is missing, and {other!r} makes no sense without it.", _BASE64)
    if event is not None and not isinstance(event, JsonMark):
        table.fail("event", "cannot be recognised by a text.", _BASE64)
    language = table.text("language")
    if language is not None and not re.fullmatch("[a-z]{2}", language):
        table.fail("language", f"is {language!r}, expected two small letters.", "For example: 'en' (ISO 639-1).")
    return AudioFormat(rate, table.text("duration_member"), cast("Encoding", encoding), event, member or "", language)


def _parameters(table: Table, request: RequestTemplate) -> dict[str, tuple[str | float, ...]]:
    keys = table.keys()
    if request.format != "json" or not isinstance(json.loads(request.render("id")), dict):
        table.fail(keys[0] if keys else "", "cannot be put into the request.", "Its template has to be a JSON object.")
    return {key: table.scalars(key) for key in keys}
