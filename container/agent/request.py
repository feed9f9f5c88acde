"""What a caller asks for: the JSON payload of an invocation, checked."""

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from container.agent.encoding import FORMATS, Format, is_available

__all__ = ["MAX_PROMPT", "InvalidRequestError", "Request", "parse"]

MAX_PROMPT = 100_000
"""Characters."""
_MAX_VOICE = 100

Mode = Literal["bidi", "batch"]


class InvalidRequestError(ValueError):
    """Raised for a turn that can't be begun; the message is for the caller, `code` for programs."""

    def __init__(self, message: str, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Request:
    """One turn. `voice`, `speed` and `format` None: the agent's, and the container's own."""

    prompt: str
    mode: Mode = "bidi"
    voice: str | None = None
    speed: float | None = None
    format: Format | None = None


def parse(payload: object) -> Request:
    """Check a payload: {"prompt": str, "mode": "bidi"|"batch", "voice": str, "speed": number, "format": "pcm16"|"mp3"}.

    The first field is required. Unknown ones are left alone. Raises InvalidRequestError.
    """
    if not isinstance(payload, dict):
        raise InvalidRequestError(f"the payload is {_shown(payload)}; expected an object with the field 'prompt'")
    prompt = payload.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidRequestError(f"prompt is {_shown(prompt)}; expected a text that is not blank")
    if len(prompt) > MAX_PROMPT:
        raise InvalidRequestError(f"prompt has {len(prompt)} characters; expected at most {MAX_PROMPT}")
    mode = payload.get("mode")
    mode = "bidi" if mode is None else mode
    if mode not in ("bidi", "batch"):
        raise InvalidRequestError(f"mode is {_shown(mode)}; expected 'bidi' or 'batch'")
    voice = payload.get("voice")
    if voice is not None and (not isinstance(voice, str) or not voice):
        raise InvalidRequestError(f"voice is {_shown(voice)}; expected the name of a voice")
    if voice is not None and len(voice) > _MAX_VOICE:
        raise InvalidRequestError(f"voice has {len(voice)} characters; expected at most {_MAX_VOICE}")
    speed = payload.get("speed")
    if speed is not None and (isinstance(speed, bool) or not isinstance(speed, int | float) or not 0.5 <= speed <= 2):
        raise InvalidRequestError(f"speed is {_shown(speed)}; expected a number from 0.5 to 2")
    return Request(
        prompt, cast("Mode", mode), voice, None if speed is None else float(speed), _format(payload.get("format"))
    )


def _format(value: object) -> Format | None:
    if value is None:
        return None
    if value not in FORMATS:
        raise InvalidRequestError(f"format is {_shown(value)}; expected 'pcm16' or 'mp3'")
    if not is_available(value):
        raise InvalidRequestError(f"format is {_shown(value)}, which needs the extra 'mp3', and that is not installed")
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else text[:60] + "..."
