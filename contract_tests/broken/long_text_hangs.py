"""Fault: hangs on a long text. Seen in https://github.com/hexgrad/kokoro/issues/325.

The model raises in a worker thread; the exception stays there, and the stream waits for a chunk that never comes.
"""

import asyncio

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

MODEL_TAKES = 510


class LongTextHangsSession(Session):
    """Session that does not look after its worker."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Wait for the worker, which may be gone."""
        chunks: asyncio.Queue[bytes] = asyncio.Queue()

        async def work() -> None:
            if len(request.text) > MODEL_TAKES and not any(mark in request.text for mark in ".!?"):
                return  # what it raised is in nobody's hands
            chunks.put_nowait(await super(LongTextHangsSession, self).synthesise(request))

        worker = asyncio.create_task(work())
        try:
            return await chunks.get()
        finally:
            worker.cancel()


app = speech_app(LongTextHangsSession)
