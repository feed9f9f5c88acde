"""Fault: only reads TEXT frames. Seen in https://github.com/rmusser01/tldw_server/pull/2143.

`receive_json()` takes the text of a message unless it is told `mode="binary"`, and then it takes nothing else. Whatever
JSON comes in a BINARY frame raises KeyError('text'), which is neither a JSONDecodeError nor a ValidationError.
"""

import json

from fastapi import WebSocket
from pydantic import ValidationError

from contract_tests.good.fastapi_speech import REQUEST, refuse, serve, speech_app


async def converse(ws: WebSocket) -> None:
    """Answer one message after the other."""
    while True:
        try:
            request = REQUEST.validate_python(await ws.receive_json())
        except json.JSONDecodeError as problem:
            await ws.send_json({"type": "error", "request_id": "unknown", "message": str(problem)})
            continue
        except ValidationError as problem:
            await refuse(ws, problem)
            continue
        if not await serve(ws, request):
            return


app = speech_app(converse)
