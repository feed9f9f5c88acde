"""The speech protocol of AWS's public Kokoro sample as pure code: what a message asks for, and what answers it.

One JSON object per message. Client to container: `{"text", "voice", "speed", "sample_rate", "request_id"}` or
`{"type": "close"}`. Container to client: `synthesis_start`, PCM, `synthesis_complete`, or `error`.
"""

import json
from dataclasses import dataclass
from typing import Any

RATES = (8000, 16000, 22050, 24000)
FEMALE = ("heart", "alloy", "aoede", "bella", "jessica", "kore", "nicole", "nova", "river", "sarah", "sky")
MALE = ("adam", "echo", "eric", "fenrir", "liam", "michael", "onyx", "puck", "santa")
VOICES = frozenset([f"af_{name}" for name in FEMALE] + [f"am_{name}" for name in MALE])

type Event = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """A request to speak `text`; `rate` in Hz, `speed` as a factor."""

    text: str
    voice: str
    speed: float
    rate: int
    request_id: Any


class Close:
    """The caller has said that the session is over."""


class MessageError(ValueError):
    """A message that cannot be served; it is answered with one `error` event and the session goes on."""

    def __init__(self, why: str, request_id: Any = "unknown") -> None:
        super().__init__(why)
        self.request_id = request_id


def parse(payload: str | bytes) -> Say | Close:
    """Return what one whole message asks for, whichever frame type carried it.

    Raise MessageError for anything else: no JSON object, no UTF-8, an unknown type, a field out of range.
    """
    try:
        document = json.loads(payload if isinstance(payload, str) else payload.decode())
    except (ValueError, RecursionError) as problem:
        raise MessageError(f"not JSON: {problem}") from problem
    return understand(document)


def understand(document: Any) -> Say | Close:
    """Return what a parsed JSON document asks for, or raise MessageError."""
    if not isinstance(document, dict):
        raise MessageError("message must be a JSON object")
    request_id = document.get("request_id", "unknown")
    kind = document.get("type")
    if kind == "close":
        return Close()
    if kind is not None:
        raise MessageError(f"unknown type {kind!r}", request_id)
    text = document.get("text", "")
    voice = document.get("voice", "af_heart")
    speed = document.get("speed", 1.0)
    rate = document.get("sample_rate", 24000)
    if not isinstance(text, str) or not text:
        raise MessageError("text required", request_id)
    if voice not in VOICES:
        raise MessageError(f"voice must be one of {sorted(VOICES)}", request_id)
    if not isinstance(speed, int | float) or isinstance(speed, bool) or not 0.5 <= speed <= 2:
        raise MessageError("speed must be a number from 0.5 to 2", request_id)
    if rate not in RATES:
        raise MessageError(f"sample_rate must be one of {RATES}", request_id)
    return Say(text, voice, speed, rate, request_id)


def started(request_id: Any) -> Event:
    """Return the event that goes ahead of the audio."""
    return {"type": "synthesis_start", "request_id": request_id}


def completed(request_id: Any, duration_s: float) -> Event:
    """Return the event that follows the last byte of audio; `duration_s` is the length of what was sent."""
    return {
        "type": "synthesis_complete",
        "request_id": request_id,
        "total_duration_s": round(duration_s, 3),
        "elapsed_s": 0.0,
    }


def failed(problem: MessageError) -> Event:
    """Return the event that answers a message which cannot be served."""
    return {"type": "error", "request_id": problem.request_id, "message": str(problem)}
