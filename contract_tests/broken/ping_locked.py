"""Fault: the health check takes the model's lock. Seen in https://github.com/octos-org/octos/issues/159.

`/ping` wants to know whether the model is well, and asks it: behind a long sentence it waits until the platform has
given up, although the event loop is free and new sessions are accepted at once.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

LONGEST_S = 3.0
MODEL = asyncio.Lock()


def work_s(text: str) -> float:
    """Return how long the model works on a text: it looks at all pairs of characters."""
    return min(LONGEST_S, 0.00002 * len(text) ** 2)


class PingLockedSession(Session):
    """Session whose model takes a while, and is locked meanwhile."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Work under the lock."""
        async with MODEL:
            await asyncio.sleep(work_s(request.text))
            return await super().synthesise(request)


async def ping(_: Request) -> Response:
    """Answer as soon as the model is free."""
    async with MODEL:
        return Response()


app = speech_app(PingLockedSession, ping)
