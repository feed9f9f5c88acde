"""Fault: a slow health check. Seen in https://github.com/huggingface/huggingface-inference-toolkit/issues/12.

`/ping` queues behind the session that has the model. The event loop is free and everything else is fast, but SageMaker
gives up on `/ping` after 2 s.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from contract_tests.broken.ping_busy import CountedSession
from contract_tests.good.speech import speech_app

QUEUE_S = 3.0


async def ping(_: Request) -> Response:
    """Answer 200, after a wait while anybody is connected."""
    if CountedSession.running:
        await asyncio.sleep(QUEUE_S)
    return Response()


app = speech_app(CountedSession, ping)
