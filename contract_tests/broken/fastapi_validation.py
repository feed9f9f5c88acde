"""Fault: a model that refuses a message ends the session. Seen in https://github.com/fastapi/fastapi/issues/3593.

In a route FastAPI makes an answer of a ValidationError. In a WebSocket loop nobody does: it leaves the handler, and the
connection is gone.
"""

import json

from fastapi import WebSocket

from contract_tests.good.fastapi_speech import REQUEST, serve, speech_app


async def converse(ws: WebSocket) -> None:
    """Answer one message after the other; JSON is checked, what it holds is the model's business."""
    while True:
        message = await ws.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        try:
            document = json.loads(text if text is not None else message["bytes"])
        except ValueError as problem:
            await ws.send_json({"type": "error", "request_id": "unknown", "message": str(problem)})
            continue
        if not await serve(ws, REQUEST.validate_python(document)):
            return


app = speech_app(converse)
