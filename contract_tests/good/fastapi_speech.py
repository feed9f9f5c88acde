"""The good speech container on FastAPI: requests are pydantic models, and what they refuse is an error event."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from contract_tests.good import protocol, tone
from contract_tests.good.invocations import FRAME_BYTES
from contract_tests.good.speech import STREAM_PATH

type Serve = Callable[[WebSocket], Awaitable[None]]


class Say(BaseModel):
    """A request to speak. ``sample_rate`` in Hz; unknown members are ignored, as for most clients they should be."""

    model_config = ConfigDict(strict=True)

    text: str = Field(min_length=1)
    voice: Literal[*sorted(protocol.VOICES)] = "af_heart"  # type: ignore[valid-type]
    speed: float = Field(1.0, ge=0.5, le=2, allow_inf_nan=False)
    sample_rate: Literal[*protocol.RATES] = 24000  # type: ignore[valid-type]
    request_id: Any = "unknown"
    type: None = None


class Close(BaseModel):
    """The caller has said that the session is over."""

    type: Literal["close"]


REQUEST: TypeAdapter[Say | Close] = TypeAdapter(Annotated[Close | Say, Field(union_mode="left_to_right")])


async def converse(ws: WebSocket) -> None:
    """Answer one message after the other, whatever its frame type, until the caller closes."""
    while True:
        message = await ws.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        try:
            request = REQUEST.validate_json(text if text is not None else message["bytes"])
        except ValidationError as problem:
            await refuse(ws, problem)
            continue
        if not await serve(ws, request):
            return


async def serve(ws: WebSocket, request: Say | Close) -> bool:
    """Do what a valid message asks for; return whether the conversation goes on."""
    if isinstance(request, Close):
        await ws.close(1000)
        return False
    await ws.send_json(protocol.started(request.request_id))
    pcm = tone.pcm16(tone.waveform(request.text, request.voice, request.sample_rate, request.speed))
    for frame in tone.cut(pcm, FRAME_BYTES):
        await ws.send_bytes(frame)
    await ws.send_json(protocol.completed(request.request_id, len(pcm) / (2 * request.sample_rate)))
    return True


async def refuse(ws: WebSocket, problem: ValidationError) -> None:
    """Answer a message that cannot be served: what is wrong with which member."""
    errors = [each for each in problem.errors() if each["loc"][:1] != ("Close",)]  # who asks for that asks for no more
    wrong = "; ".join(f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in errors)
    await ws.send_json({"type": "error", "request_id": "unknown", "message": wrong})


def speech_app(converse: Serve = converse) -> FastAPI:
    """Return the container as an ASGI app."""
    app = FastAPI()

    @app.api_route("/ping", methods=["GET", "HEAD", "POST"])
    async def ping() -> Response:
        return Response()

    @app.websocket(STREAM_PATH)
    async def stream(ws: WebSocket) -> None:
        await ws.accept()
        try:
            await converse(ws)
        except WebSocketDisconnect:
            return

    return app


app = speech_app()
