"""A handshake that is refused, for containers whose fault it is."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from contract_tests.good.starlette_speech import app as speech

type Scope = MutableMapping[str, Any]


def refusing(unwanted: Callable[[Mapping[bytes, bytes], str], bool], status: int = 403) -> Any:
    """Return the good container behind a middleware that refuses the upgrades that are `unwanted`.

    `unwanted` gets the request headers, names in lower case, and the query string.
    """

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket" and unwanted(dict(scope["headers"]), scope["query_string"].decode()):
            await receive()  # websocket.connect
            await send({"type": "websocket.http.response.start", "status": status, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b""})
            return
        await speech(scope, receive, send)

    return app
