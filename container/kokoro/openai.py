"""OpenAI's speech request, `POST /v1/audio/speech`, in terms of ours: {"model", "input", "voice", ...}."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from container.kokoro import formats
from container.kokoro.answers import AsciiJson
from container.kokoro.errors import RequestError

_VOICES = {"alloy": "af_alloy", "echo": "am_echo", "fable": "bm_fable", "nova": "af_nova", "onyx": "am_onyx"}
"""Its voices that have a namesake here; all of ours go by their own names."""
_NAMES = {"text": "input", "format": "response_format"}


def is_meant(message: Mapping[str, Any]) -> bool:
    """Say whether a request is of this shape."""
    return "input" in message and "text" not in message


def translate(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request in our shape. `model` and `instructions` are taken and not looked at. Raises RequestError."""
    stream = message.get("stream_format")
    if stream not in (None, "audio"):
        raise RequestError(
            "invalid_stream_format", "stream_format is not on offer; expected 'audio'", field="stream_format"
        )
    voice = message.get("voice")
    result: dict[str, Any] = {
        "text": message.get("input"),
        "voice": _VOICES.get(voice, voice) if isinstance(voice, str) else voice,
        "speed": message.get("speed"),
        "format": message.get("response_format"),
        "sample_rate": message.get("sample_rate"),
        "request_id": message.get("request_id"),
    }
    if result["format"] is None and formats.is_available("mp3"):
        result["format"] = "mp3"  # its default
    return result


def failure(error: RequestError) -> Response:
    """Return a refusal in its shape."""
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    field = _NAMES.get(error.field or "", error.field)
    body = {"message": error.message, "type": kind, "param": field, "code": error.code}
    return AsciiJson({"error": body}, status_code=error.status)
