"""The wire's messages: one JSON object in, one JSON object or PCM out. Pure functions over bytes."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from container.kokoro.errors import RequestError
from container.kokoro.pcm import MODEL_RATE
from container.kokoro.resampling import RATES
from container.kokoro.voices import DEFAULT_VOICE, check_name

MAX_TEXT = 20_000
"""Characters in one request unless set otherwise: about 20 minutes of speech."""
MAX_REQUEST_ID = 256
"""Characters: an echoed id must never make a control frame so large that somebody splits it."""
MIN_SPEED, MAX_SPEED = 0.5, 2.0

_JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True)
class Utterance:
    """One text to speak. `speed` is 0.5..2.0, `sample_rate` in Hz one of those in resampling.py."""

    text: str
    voice: str = DEFAULT_VOICE
    speed: float = 1.0
    sample_rate: int = MODEL_RATE
    request_id: str | float | bool = "unknown"


@dataclass(frozen=True)
class Close:
    """The client's wish to end the session after what it has asked for."""


@dataclass(frozen=True)
class Cancel:
    """The client's wish to hear no more of one request (all with that id), or of any (None)."""

    request_id: str | float | bool | None = None

    @property
    def all(self) -> bool:
        """Whether every request of the session is meant."""
        return self.request_id is None

    def means(self, request_id: str | float | bool) -> bool:
        """Whether a request of this id is meant; to JSON, true is not 1."""
        same_kind = isinstance(request_id, bool) == isinstance(self.request_id, bool)
        return self.all or (same_kind and request_id == self.request_id)


def decode(payload: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a text or binary frame. Raises RequestError."""
    try:
        text = payload.decode("utf-8") if isinstance(payload, bytes) else payload
    except UnicodeDecodeError as error:
        raise RequestError(
            "invalid_utf8", f"the message is not UTF-8 (byte {error.start}); send one JSON object in UTF-8"
        ) from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError("invalid_json", f"the message is not JSON ({error}); send one JSON object") from error
    if not isinstance(value, dict):
        found = _JSON_TYPES.get(type(value), "null")
        raise RequestError("not_an_object", f"the message holds {found}; send one JSON object with the field 'text'")
    return value


def parse(payload: str | bytes, voices: list[str] | None, max_text: int = MAX_TEXT) -> Utterance | Close | Cancel:
    """Return what one WebSocket frame asks for. Raises RequestError, with the request's own id where it has one."""
    message = decode(payload)
    kind = message.get("type")
    if kind == "close":
        return Close()
    if kind == "cancel":
        return Cancel(None if message.get("request_id") is None else _request_id(message))
    if kind is not None:
        raise RequestError(
            "unknown_type",
            f"type {_shown(kind)} is unknown; leave it out to speak a text, or send 'cancel' to stop one or 'close' to "
            "end the session",
            field="type",
            request_id=known_id(message),
        )
    return utterance(message, voices, max_text)


def utterance(message: Mapping[str, Any], voices: list[str] | None, max_text: int = MAX_TEXT) -> Utterance:
    """Check the fields of a request; null means the default. Raises RequestError that names the field.

    `voices` is None while they are not known yet: then any name passes.
    """
    request_id = known_id(message)
    try:
        return Utterance(
            text=_text(message, max_text),
            voice=_voice(message, voices),
            speed=_speed(message),
            sample_rate=_rate(message),
            request_id=_request_id(message),
        )
    except RequestError as error:
        error.request_id = request_id
        raise


def known_id(message: Mapping[str, Any]) -> str | float | bool:
    """Return the message's id if it is a usable one, else "unknown"."""
    try:
        return _request_id(message)
    except RequestError:
        return "unknown"


def _request_id(message: Mapping[str, Any]) -> str | float | bool:
    value = message.get("request_id")
    if value is None:
        return "unknown"
    if not isinstance(value, str | int | float) or len(str(value)) > MAX_REQUEST_ID:
        raise RequestError(
            "invalid_request_id",
            f"request_id is {_shown(value)}; expected a string, number or boolean of at most {MAX_REQUEST_ID} "
            "characters",
            field="request_id",
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise RequestError("invalid_request_id", "request_id is not a finite number", field="request_id")
    return value


def _text(message: Mapping[str, Any], limit: int) -> str:
    value = message.get("text")
    if value is None or value == "":
        raise RequestError("text_required", "text required", field="text")
    if not isinstance(value, str):
        raise RequestError("invalid_text", f"text is {_shown(value)}; expected a string", field="text")
    if len(value) > limit:
        raise RequestError(
            "text_too_long",
            f"text has {len(value)} characters; at most {limit} fit into one request, send it in parts",
            field="text",
            status=413,
        )
    return value


def _voice(message: Mapping[str, Any], voices: list[str] | None) -> str:
    value = message.get("voice")
    if value is None:
        return DEFAULT_VOICE
    if not isinstance(value, str):
        raise RequestError("invalid_voice", f"voice is {_shown(value)}; expected a string", field="voice")
    if voices is not None:
        check_name(value, voices)
    return value


def _speed(message: Mapping[str, Any]) -> float:
    value = message.get("speed")
    if value is None:
        return 1.0
    # a comparison alone would let NaN through where it is written the other way round, and bool is an int
    if isinstance(value, bool) or not isinstance(value, int | float) or not MIN_SPEED <= value <= MAX_SPEED:
        raise RequestError(
            "invalid_speed",
            f"speed is {_shown(value)}; expected a number from {MIN_SPEED} to {MAX_SPEED}",
            field="speed",
        )
    return float(value)


def _rate(message: Mapping[str, Any]) -> int:
    value = message.get("sample_rate")
    if value is None:
        return MODEL_RATE
    if isinstance(value, bool) or not isinstance(value, int) or value not in RATES:
        raise RequestError(
            "invalid_sample_rate",
            f"sample_rate is {_shown(value)}; expected one of {', '.join(map(str, RATES))}",
            field="sample_rate",
        )
    return value


def _shown(value: object) -> str:
    """Quote a client's value briefly."""
    if isinstance(value, list | dict):
        return _JSON_TYPES[type(value)]
    try:
        text = json.dumps(value)
    except ValueError:  # an integer of more than 4300 digits
        return "a very large number"
    return text if len(text) <= 60 else text[:60] + "..."


def _control(kind: str, request_id: object, **fields: object) -> str:
    # ASCII only: no byte of it can be cut in the middle of a character on the way
    return json.dumps({"type": kind, "request_id": request_id, **fields})


def start(request: Utterance) -> str:
    """Return the text frame that announces audio."""
    return _control("synthesis_start", request.request_id)


def complete(request: Utterance, total_s: float, elapsed_s: float, unspoken: int) -> str:
    """Return the text frame after the last audio; it owns up to letters that have no reading."""
    extra = {"unspoken_characters": unspoken} if unspoken else {}
    return _control(
        "synthesis_complete",
        request.request_id,
        total_duration_s=round(total_s, 4),
        elapsed_s=round(elapsed_s, 4),
        **extra,
    )


def cancelled_request(request: Utterance, total_s: float) -> str:
    """Return the text frame that ends a cancelled request; `total_s` is the audio made for it, not all of it sent."""
    return _control("synthesis_cancelled", request.request_id, total_duration_s=round(total_s, 4))


def cancelled(cancel: Cancel, count: int) -> str:
    """Return the text frame that answers a cancel: no frame of those requests comes after it. Null means all."""
    return _control("cancelled", cancel.request_id, requests=count)


def error(failure: RequestError) -> str:
    """Return the text frame for a refused or failed request."""
    field = {"field": failure.field} if failure.field else {}
    return _control("error", failure.request_id, message=failure.message, code=failure.code, **field)
