"""Fault: half an answer that looks whole. Seen in https://github.com/juspay/neurolink/pull/1336.

The failure in the middle of the text is logged, and the response ends in order: nobody outside can tell.
"""

from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contract_tests.good import invocations
from contract_tests.good.cancelling import CancellingSession
from contract_tests.good.speech import speech_app


async def invoke(request: Request) -> Response:
    """Answer as usual, but let nothing disturb the end of the response."""
    response = await invocations.invoke(request)
    if not isinstance(response, StreamingResponse):
        return response
    whole = response.body_iterator

    async def body() -> AsyncIterator[str | bytes | memoryview]:
        with suppress(RuntimeError):
            async for frame in whole:
                yield frame

    return StreamingResponse(body(), media_type="audio/pcm")


app = speech_app(CancellingSession, invoke=invoke)
