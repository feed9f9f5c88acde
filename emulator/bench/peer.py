"""The same relay on a ready-made HTTP/2 server (hypercorn), to compare with. Only what the benchmark needs."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.client import connect

from emulator import facts
from emulator.wire.eventstream import Decoder
from emulator.wire.parts import CompletionState, DataType, EndOfInput, PayloadPart, encode_part, read_request_event
from emulator.wire.request import CONTENT_TYPE

CONTAINER = "BENCH_CONTAINER"
"""Environment variable with the address of the container, ``ws://HOST:PORT``."""

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Relay one stream; ASGI."""
    if scope["type"] != "http":
        return
    async with connect(os.environ[CONTAINER] + facts.text("ctr.path-default"), compression=None, max_size=None) as ws:
        headers = [(b"content-type", CONTENT_TYPE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def back() -> None:
            async for message in ws:
                text = isinstance(message, str)
                data = message.encode() if isinstance(message, str) else message
                kind = DataType.UTF8 if text else DataType.BINARY
                body = encode_part(PayloadPart(data, kind, CompletionState.COMPLETE))
                await send({"type": "http.response.body", "body": body, "more_body": True})

        returning = asyncio.create_task(back())
        decoder = Decoder()
        more = True
        while more:
            request = await receive()
            more = request.get("more_body", False)
            for message in decoder.feed(request.get("body", b"")):
                event = read_request_event(message)
                if isinstance(event, EndOfInput):
                    more = False
                else:
                    await ws.send(event.data.decode() if event.data_type is DataType.UTF8 else event.data)
        await ws.close()
        await returning
        await send({"type": "http.response.body", "body": b""})
