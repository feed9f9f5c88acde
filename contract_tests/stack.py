"""What a container's WebSocket is served by, as far as that shows from outside: fixes look different for each."""

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["Stack", "stack_of"]


class Stack(StrEnum):
    """The value is what people call it."""

    UVICORN = "Starlette or FastAPI"
    HYPERCORN = "Starlette or FastAPI on hypercorn"
    AIOHTTP = "aiohttp"
    WEBSOCKETS = "websockets"
    NODE = "Node ws"
    LIBWEBSOCKETS = "libwebsockets"


_NAMES = {
    "uvicorn": Stack.UVICORN,
    "hypercorn": Stack.HYPERCORN,
    "aiohttp": Stack.AIOHTTP,
    "websockets": Stack.WEBSOCKETS,
}


def stack_of(headers: Mapping[str, str]) -> Stack | None:
    """Return what the headers (lower-case names) of an answer to ``GET /ping`` speak of, None if they do not say.

    Node names itself nowhere, but it is the one that tells its keep-alive timeout without a Server header;
    libwebsockets says nothing at all.
    """
    server = headers.get("server", "").lower()
    if not server and (headers.get("keep-alive", "").startswith("timeout=") or "express" in _powered_by(headers)):
        return Stack.NODE
    return next((stack for name, stack in _NAMES.items() if name in server), None)


def _powered_by(headers: Mapping[str, str]) -> str:
    return headers.get("x-powered-by", "").lower()
