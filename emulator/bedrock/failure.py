"""The errors of Bedrock Runtime: names, HTTP statuses, texts."""

from typing import Any, cast

from emulator import facts
from emulator.wire.exceptions import RequestError

__all__ = ["BREAKS", "IN_STREAM", "STATUSES", "error", "members"]

STATUSES = cast("dict[str, int]", facts.get("bedrock.errors").value)
"""HTTP status of each error of both operations."""
IN_STREAM = tuple(cast("list[str]", facts.get("bedrock.stream-errors").value))
"""The errors that a stream can carry; their event names begin with a small letter."""
BREAKS = ("cut", "stall")
"""What can go wrong without an error: the connection drops, or nothing comes any more."""
_TEXTS = {
    "ThrottlingException": facts.text("bedrock.throttle-text"),
    "ModelStreamErrorException": "The model's stream broke. (Scripted.)",
}


def error(kind: str, message: str | None = None) -> RequestError:
    """Return the HTTP error of a kind; ``ModelStreamErrorException`` has none and becomes ``ModelErrorException``."""
    named = "ModelErrorException" if kind == "ModelStreamErrorException" else kind
    return RequestError(STATUSES[named], named, message or _text(kind))


def members(kind: str, message: str | None = None) -> dict[str, Any]:
    """Return the JSON members of an exception event."""
    more = {"originalStatusCode": 500, "originalMessage": "scripted"} if kind == "ModelStreamErrorException" else {}
    return {"message": message or _text(kind), **more}


def _text(kind: str) -> str:
    return _TEXTS.get(kind, f"{kind}, as the script says.")
