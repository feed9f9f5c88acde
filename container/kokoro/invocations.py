"""`POST /invocations`: the same speech over plain HTTP, streamed; whatever can fail early fails with a status."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from container.kokoro import messages, pcm
from container.kokoro.errors import RequestError
from container.kokoro.messages import Utterance
from container.kokoro.model import Model

MAX_BODY = 1 << 20
"""Bytes."""
MAX_DISCARDED = 32 << 20
"""Bytes of too large a body that are read all the same: a client that is still sending would miss the answer."""
FORMATS = ("pcm", "wav")


async def invoke(request: Request, model: Model) -> Response:
    """Answer one request with audio, or with 4xx, 500, 503 and {"error", "code", "field"}."""
    try:
        speech = model.speech()
        message = messages.decode(await _body(request))
        utterance = messages.utterance(message, speech.voices)
        audio_format = _format(message)
        frames = speech.utter(utterance).frames()
        # the first frame is pulled before the status goes out: afterwards nothing can be reported any more
        first = await anext(frames, b"")
    except RequestError as error:
        return failure(error)
    return StreamingResponse(
        _body_parts(first, frames, utterance, audio_format), media_type=_media_type(utterance, audio_format)
    )


def failure(error: RequestError) -> JSONResponse:
    """Return a refusal as JSON."""
    body = {"error": error.message, "code": error.code, "request_id": error.request_id}
    return JSONResponse(body | ({"field": error.field} if error.field else {}), status_code=error.status)


async def _body(request: Request) -> bytes:
    body, size = b"", 0
    async for part in request.stream():
        size += len(part)
        if size <= MAX_BODY:
            body += part
        elif size > MAX_DISCARDED:
            break
    if size > MAX_BODY:
        raise RequestError("body_too_large", f"the body is larger than {MAX_BODY} bytes", status=413)
    return body


def _format(message: dict[str, Any]) -> str:
    value = message.get("format")
    if value is None:
        return "pcm"
    if value not in FORMATS:
        shown = json.dumps(value)[:60]
        raise RequestError("invalid_format", f"format is {shown}; expected one of {', '.join(FORMATS)}", field="format")
    return str(value)


def _media_type(utterance: Utterance, audio_format: str) -> str:
    # not audio/L16, which is big-endian by definition
    return "audio/wav" if audio_format == "wav" else f"audio/pcm;rate={utterance.sample_rate};channels=1"


async def _body_parts(
    first: bytes, frames: AsyncGenerator[bytes], utterance: Utterance, audio_format: str
) -> AsyncGenerator[bytes]:
    try:
        if audio_format == "wav":
            yield pcm.wav_header(utterance.sample_rate)
        if first:
            yield first
        async for frame in frames:
            yield frame
    finally:
        await frames.aclose()
