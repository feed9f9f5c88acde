"""`POST /invocations`: the same speech over plain HTTP, streamed; whatever can fail early fails with a status."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from container.kokoro import formats, messages, openai
from container.kokoro.answers import AsciiJson
from container.kokoro.errors import RequestError
from container.kokoro.formats import Encoder
from container.kokoro.model import Model
from container.kokoro.sessions import Sessions
from container.kokoro.settings import Settings
from container.kokoro.speech import Delivery
from container.kokoro.telemetry import Outcome, Telemetry, outcome_of

MAX_BODY = 1 << 20
"""Bytes, unless `max_text` needs more."""
MAX_DISCARDED = 32 << 20
"""Bytes of too large a body that are read all the same: a client that is still sending would miss the answer."""

CLIENT_GONE = 499
"""Nobody receives it; it is what access logs call this."""
STOPPING_S = 9
"""After so long without any sound a request is refused when the server stops: one second more, and it is cut off."""
_LOOK_S = 0.25

_log = logging.getLogger(__name__)


async def invoke(
    request: Request,
    model: Model,
    settings: Settings,
    telemetry: Telemetry,
    sessions: Sessions,
    *,
    as_openai: bool = False,
) -> Response:
    """Answer one request with audio, or with 4xx, 500, 503 and {"error", "code", "field"}.

    A request of OpenAI's shape is answered in that shape, and so is every request with `as_openai`.
    """
    fail: Callable[[RequestError], Response] = openai.failure if as_openai else failure
    try:
        speech = model.speech()
        message: Mapping[str, Any] = messages.decode(await _body(request, settings))
        if as_openai or openai.is_meant(message):
            fail = openai.failure
            message = openai.translate(message)
        utterance = messages.utterance(message, speech.voices, settings.max_text)
        encoder = formats.encoder(_format(message), utterance.sample_rate)
        stream = _stream(message)
    except ClientDisconnect:  # in the middle of its body
        telemetry.gone("http")
        return Response(status_code=CLIENT_GONE)
    except RequestError as error:
        telemetry.refused("http", error.code)
        return fail(error)
    answer = Answer(speech.utter(utterance), telemetry)
    if not stream:
        return await _whole(answer, encoder, request, sessions, fail)
    parts = answer.parts(encoder)
    try:
        # the first part is pulled before the status goes out: afterwards nothing can be reported any more
        first = await _unless_over(request, sessions, anext(parts, b""))
    except RequestError as error:
        return fail(error)
    if first is None:
        return Response(status_code=CLIENT_GONE)
    return _Stream(first, parts, encoder.media_type, settings.stall_s or None)


def failure(error: RequestError) -> Response:
    """Return a refusal as JSON."""
    body = {"error": error.message, "code": error.code, "request_id": error.request_id}
    return AsciiJson(body | ({"field": error.field} if error.field else {}), status_code=error.status)


class Answer:
    """The audio of one request, counted and logged however it ends."""

    def __init__(self, delivery: Delivery, telemetry: Telemetry) -> None:
        self.delivery = delivery
        self._telemetry = telemetry

    async def parts(self, encoder: Encoder, size: int | None = None) -> AsyncGenerator[bytes]:
        """Yield the encoded audio, nothing empty; the first part comes with its first audio. Raises RequestError."""
        outcome: Outcome = "disconnected"
        code: str | None = None
        self._telemetry.in_flight.labels("http").inc()
        frames = self.delivery.frames()
        try:
            head = b""
            first = await anext(frames, None)
            head = encoder.begin(size)
            if first is not None and (head := head + encoder.feed(first)):
                yield head
                head = b""
            if first is not None:
                async for frame in frames:
                    if part := encoder.feed(frame):
                        yield part
            if tail := head + encoder.end():
                yield tail
            outcome = "complete"
        except RequestError as error:
            outcome, code = outcome_of(error), error.code
            raise
        finally:
            await frames.aclose()
            self._telemetry.in_flight.labels("http").dec()
            self._telemetry.done("http", self.delivery.utterance, self.delivery, outcome, code=code)


class _StalledError(Exception):
    """The client reads nothing."""


class _Stream(StreamingResponse):
    """Sends `first` and then the rest of `parts`; ends the work also where the client left before any was sent.

    A client that reads nothing for `limit_s` seconds is left: the answer stays without its end.
    """

    def __init__(self, first: bytes, parts: AsyncGenerator[bytes], media_type: str, limit_s: float | None) -> None:
        async def joined() -> AsyncGenerator[bytes]:
            if first:
                yield first
            async for part in parts:
                yield part

        super().__init__(joined(), media_type=media_type)
        self._parts = parts
        self._limit_s = limit_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as an ASGI application."""

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(self._limit_s):
                    await send(message)
            except TimeoutError as error:
                raise _StalledError from error

        try:
            await super().__call__(scope, receive, send_in_time)
        except _StalledError:
            _log.info("nothing that was sent was read in %g s: the answer is broken off", self._limit_s)
        finally:
            await self._parts.aclose()


async def _whole(
    answer: Answer,
    encoder: Encoder,
    request: Request,
    sessions: Sessions,
    fail: Callable[[RequestError], Response],
) -> Response:
    """Answer with a complete file and what it took."""
    parts = answer.parts(formats.encoder("pcm", 0))

    async def collect() -> bytes:
        collected = []
        async for part in parts:
            collected.append(part)
            await asyncio.sleep(0)  # a long piece is converted in a hundred steps, none of which waits for anything
        return b"".join(collected)

    def encode(audio: bytes) -> bytes:
        return encoder.begin(len(audio)) + (encoder.feed(audio) if audio else b"") + encoder.end()

    try:
        audio = await _unless_over(request, sessions, collect())
    except RequestError as error:
        return fail(error)
    if audio is None:
        return Response(status_code=CLIENT_GONE)
    body = await asyncio.to_thread(encode, audio)  # an hour of audio is seconds of work
    delivery = answer.delivery
    headers = {
        "X-Audio-Duration": f"{delivery.seconds:.3f}",
        "X-Inference-Time-Ms": f"{delivery.computing_s * 1000:.0f}",
        "X-RTF": f"{delivery.computing_s / delivery.computed_s if delivery.computed_s else 0:.3f}",
        "X-Characters-Processed": str(len(delivery.utterance.text)),
    }
    return Response(body, media_type=encoder.media_type, headers=headers)


async def _unless_over[Result](
    request: Request, sessions: Sessions, work: Coroutine[Any, Any, Result]
) -> Result | None:
    """Return what `work` does, or cancel it and return None when the client hangs up.

    Raises what it raises, and RequestError when the server has been stopping for so long that it must end.
    """
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
            if await request.is_disconnected():
                return None
            if sessions.stopping_s > STOPPING_S:
                raise RequestError("stopping", "the server is stopping; ask another one", status=503)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return task.result()


async def _body(request: Request, settings: Settings) -> bytes:
    limit = max(MAX_BODY, settings.max_text * 12 + 65_536)  # a character can be escaped in 12 bytes
    body, size = b"", 0
    async for part in request.stream():
        size += len(part)
        if size <= limit:
            body += part
        elif size > MAX_DISCARDED:
            break
    if size > limit:
        raise RequestError("body_too_large", f"the body is larger than {limit} bytes", status=413)
    return body


def _format(message: Mapping[str, Any]) -> str:
    value = message.get("format")
    if value is None:
        return "pcm"
    offered = [name for name in formats.NAMES if formats.is_available(name)]
    if value in offered:
        return str(value)
    hint = " (it needs the extra 'mp3', which is not installed)" if value == "mp3" else ""
    shown = json.dumps(value)[:60]
    raise RequestError(
        "invalid_format", f"format is {shown}{hint}; expected one of {', '.join(offered)}", field="format"
    )


def _stream(message: Mapping[str, Any]) -> bool:
    value = message.get("stream")
    if value is None:
        return True
    if not isinstance(value, bool):
        raise RequestError("invalid_stream", "stream has to be true or false", field="stream")
    return value
