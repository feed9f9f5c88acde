"""A stand-in for the agent: a fixed text, spoken while it is written (bidi) or afterwards (batch), in odd pieces."""

import asyncio
import base64
import itertools
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

WORDS = ("One ", "robot ", "learned. ", "It ", "sang ", "well. ")
SENTENCES = {2: "One robot learned.", 5: "It sang well."}
DELTA_S = 0.01
PIECES = (1, 7, 700, 64)
"""Sizes of the pieces in which the body goes out, again and again: they line up with nothing."""


def events(mode: str) -> list[dict[str, Any]]:
    spoken = [
        event
        for number, text in enumerate(SENTENCES.values())
        for event in (
            {"type": "sentence", "text": text, "index": number},
            {"type": "audio_chunk", "data": base64.b64encode(bytes(2400)).decode(), "index": number},
            {"type": "sentence_end", "index": number},
        )
    ]
    found: list[dict[str, Any]] = [{"type": "agent_start", "mode": mode}]
    for number, word in enumerate(WORDS):
        found.append({"type": "text", "text": word})
        if mode == "bidi" and number in SENTENCES:
            found += [spoken.pop(0) for _ in range(3)]
            found[-1]["say"] = "\u2028"  # a line separator inside the JSON is no end of a line
    found.append({"type": "text_done"})
    return [*found, *spoken, {"type": "done"}]


async def frames(mode: str) -> AsyncIterator[bytes]:
    began = time.monotonic()
    for number, event in enumerate(events(mode)):
        if event["type"] == "text":
            await asyncio.sleep(DELTA_S)  # the pace of the model that writes
        body = event | {"seq": number, "t_ms": round(1000 * (time.monotonic() - began), 3)}
        yield f"data: {json.dumps(body)}\n\n".encode()


async def pieces(mode: str) -> AsyncIterator[bytes]:
    sizes = itertools.cycle(PIECES)
    async for frame in frames(mode):
        rest = frame
        while rest:
            size = next(sizes)
            yield rest[:size]
            rest = rest[size:]


async def invocations(request: Request) -> Response:
    body = await request.json()
    return StreamingResponse(pieces(body["mode"]), media_type="text/event-stream")


async def ping(_: Request) -> Response:
    return JSONResponse({"status": "Healthy", "time_of_last_update": 0})


app = Starlette(routes=[Route("/ping", ping), Route("/invocations", invocations, methods=["POST"])])
