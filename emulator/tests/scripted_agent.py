"""A small agent for the tests of what stands around one: the model's text in sentences, each with a little "audio".

Its events are those of the agent of this repository. There is no speech container behind it.
"""

import asyncio
import base64
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import boto3
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from emulator.bench.codecs import CODECS

PCM = b"\x01\x00" * 2400  # 0.1 s


def _audio(payload: dict[str, Any]) -> list[bytes]:
    """Return the chunks of one sentence; those of MP3 end inside of frames."""
    if payload.get("format", "pcm16") == "pcm16":
        return [PCM]
    data = b"".join(piece.data for piece in CODECS[1].encode(PCM * 3))
    return [data[at : at + 100] for at in range(0, len(data), 100)]


def _deltas(prompt: str) -> Iterator[str]:
    client = boto3.session.Session().client("bedrock-runtime")
    messages = [{"role": "user", "content": [{"text": prompt}]}]
    stream = client.converse_stream(modelId="anthropic.scripted", messages=messages)["stream"]
    try:
        for event in stream:
            if "contentBlockDelta" in event:
                yield event["contentBlockDelta"]["delta"]["text"]
    finally:
        stream.close()
        client.close()


async def _events(payload: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    start = {"type": "agent_start", "mode": payload["mode"], "endpoint": os.environ.get("SPEECH_ENDPOINT")}
    yield start | {name: payload[name] for name in ("format",) if name in payload}
    if payload["prompt"] == "fail":
        yield {"type": "error", "message": "as it was asked to"}
        return
    if payload["prompt"] == "fail late":
        yield {"type": "text", "text": "Well."}
        for _ in range(10):
            yield {"type": "audio_chunk", "data": base64.b64encode(PCM).decode()}
        yield {"type": "error", "message": "as it was asked to"}
        return
    deltas = _deltas(payload["prompt"])
    rest = ""
    sentences = []
    while (delta := await asyncio.to_thread(next, deltas, None)) is not None:
        yield {"type": "text", "text": delta}
        rest += delta
        if rest.endswith("."):
            sentences.append(rest)
            rest = ""
            if payload["mode"] == "bidi":
                for chunk in _audio(payload):
                    yield {"type": "audio_chunk", "data": base64.b64encode(chunk).decode()}
    yield {"type": "text_done"}
    if payload["mode"] == "batch":
        for chunk in _audio(payload) * len(sentences):
            yield {"type": "audio_chunk", "data": base64.b64encode(chunk).decode()}
    yield {"type": "done"}


async def _invoke(request: Request) -> StreamingResponse:
    payload = await request.json()

    async def frames() -> AsyncIterator[str]:
        began = time.monotonic()
        seq = 0
        async for event in _events(payload):
            event |= {"seq": seq, "t_ms": round((time.monotonic() - began) * 1000, 1)}
            yield f"data: {json.dumps(event)}\n\n"
            seq += 1

    return StreamingResponse(frames(), media_type="text/event-stream")


async def _talk(websocket: WebSocket) -> None:
    await websocket.accept()
    async for event in _events(await websocket.receive_json()):
        if event["type"] == "audio_chunk":
            await websocket.send_bytes(base64.b64decode(event["data"]))
        else:
            await websocket.send_text(json.dumps(event, ensure_ascii=False))
    with contextlib.suppress(WebSocketDisconnect):
        await websocket.receive()


async def _ping(_: Request) -> JSONResponse:
    return JSONResponse({"status": "Healthy", "time_of_last_update": 0})


app = Starlette(
    routes=[Route("/invocations", _invoke, methods=["POST"]), WebSocketRoute("/ws", _talk), Route("/ping", _ping)]
)
