"""Fault: SIGTERM does not end it. Seen in https://github.com/sgl-project/sglang/pull/19008.

When the caller has gone, the handler waits for its worker, which waits for the next request: the handler never ends,
and a server that waits for its handlers never stops. SageMaker kills it after 30 s, with all that was under way.
"""

import asyncio

from contract_tests.good.speech import Session, speech_app


class EndlessWorkerSession(Session):
    """Session with a worker that nobody tells that it is over."""

    async def run(self) -> None:
        """Hold the conversation, then wait for the worker."""
        requests: asyncio.Queue[str] = asyncio.Queue()
        worker = asyncio.create_task(requests.get())
        try:
            await super().run()
        finally:
            await worker


app = speech_app(EndlessWorkerSession)
