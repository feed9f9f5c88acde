"""Fault: 200, and then nothing. Stands for https://github.com/ServeurpersoCom/qwentts.cpp/issues/28.

The streaming response starts before the generator has run; what the generator finds wrong with the request comes late.
"""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from contract_tests.good import protocol
from contract_tests.good.invocations import pcm
from contract_tests.good.speech import speech_app


async def invoke(request: Request) -> Response:
    """Answer at once; look at the request afterwards."""
    payload = await request.body()

    def body() -> Iterator[bytes]:
        asked = protocol.parse(payload)
        if isinstance(asked, protocol.Say):
            yield from pcm(asked)

    return StreamingResponse(body(), media_type="audio/pcm")


app = speech_app(invoke=invoke)
