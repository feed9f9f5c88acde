"""The good speech container without a framework: plain ASGI.

Keeps the suite from taking Starlette's habits for the contract.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from contract_tests.good import protocol, tone
from contract_tests.good.invocations import FRAME_BYTES
from contract_tests.good.speech import STREAM_PATH

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]


async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """Serve one ASGI scope: lifespan, `/ping` or the stream."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "http":
        await http(scope["path"], send)
    elif scope["path"] == STREAM_PATH:
        await converse(receive, send)
    else:
        await send({"type": "websocket.close", "code": 1000})


async def lifespan(receive: Receive, send: Send) -> None:
    """Follow the server through start and stop; there is nothing to load."""
    while (event := (await receive())["type"]) == "lifespan.startup":
        await send({"type": f"{event}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


async def http(path: str, send: Send) -> None:
    """Answer `/ping` with 200 whatever the method, everything else with 404."""
    status = 200 if path == "/ping" else 404
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def converse(receive: Receive, send: Send) -> None:
    """Hold one conversation until the caller closes or hangs up."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        text, data = message.get("text"), message.get("bytes")
        try:
            request = protocol.parse(text if text is not None else data or b"")
        except protocol.MessageError as problem:
            await control(send, protocol.failed(problem))
            continue
        if isinstance(request, protocol.Close):
            await send({"type": "websocket.close", "code": 1000})
            return
        try:
            await say(send, request)
        except OSError:  # the caller hung up in mid-sentence; uvicorn says so on the next send
            return


async def say(send: Send, request: protocol.Say) -> None:
    """Send start, audio and complete of one request."""
    await control(send, protocol.started(request.request_id))
    pcm = tone.pcm16(tone.waveform(request.text, request.voice, request.rate, request.speed))
    for frame in tone.cut(pcm, FRAME_BYTES):
        await send({"type": "websocket.send", "bytes": frame})
    await control(send, protocol.completed(request.request_id, len(pcm) / (2 * request.rate)))


async def control(send: Send, event: protocol.Event) -> None:
    """Send one control event: a whole JSON object in one TEXT frame."""
    await send({"type": "websocket.send", "text": json.dumps(event)})
