"""Fault: busy means unhealthy. Seen in https://github.com/ggml-org/llama.cpp/pull/5594 (503 with no slot free).

Meant as back-pressure; SageMaker reads it as a sick instance and replaces it, and the conversation that made it busy
goes with it.
"""

from starlette.requests import Request
from starlette.responses import Response

from contract_tests.good.speech import Session, speech_app


class CountedSession(Session):
    """Session that counts itself."""

    running = 0

    async def run(self) -> None:
        """Hold the conversation and be counted while it lasts."""
        CountedSession.running += 1
        try:
            await super().run()
        finally:
            CountedSession.running -= 1


async def ping(_: Request) -> Response:
    """Answer 503 while anybody is connected."""
    return Response(status_code=503 if CountedSession.running else 200)


app = speech_app(CountedSession, ping)
