"""What the Python clients share: what they say, and how they report it, as one JSON object a line."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

TALK: list[tuple[bytes, str | None]] = [
    ("héllo".encode(), "UTF8"),
    (bytes(range(256)) * 400, "BINARY"),
    (b'{"text": "hi"}', None),
]
"""A text, more binary data than one HTTP/2 frame or one flow-control window holds, and a part without DataType."""


async def outcome(session: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Return what a session gave, or the exception that a user of the client has to catch."""
    try:
        async with asyncio.timeout(30):
            return await session
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what a user gets
        members = {name: value for name, value in vars(error).items() if isinstance(value, str | int)}
        return {"raised": type(error).__name__, "text": str(error), "members": members}


async def main(run: Callable[[str], Awaitable[dict[str, Any]]]) -> None:
    """Run a session with each endpoint that the command line names."""
    for endpoint in sys.argv[1:]:
        print(json.dumps({"endpoint": endpoint, **await run(endpoint)}, default=shown), flush=True)


def shown(value: Any) -> str:
    """Return bytes in a form that JSON can hold; long ones by their digest."""
    if not isinstance(value, bytes):
        return repr(value)
    return value.decode() if len(value) < 100 else f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()}"
