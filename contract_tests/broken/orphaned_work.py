"""Fault: the model speaks on for nobody. Seen in https://github.com/remsky/Kokoro-FastAPI/issues/25.

A thread makes the whole text and holds the model meanwhile; the session that started it is long gone.
"""

import asyncio
import threading
from contextlib import suppress

from contract_tests.good import protocol
from contract_tests.good.paced import MODEL, PacedSession, sentences
from contract_tests.good.speech import speech_app


class OrphaningSession(PacedSession):
    """Session whose synthesis nobody can stop."""

    async def say(self, request: protocol.Say) -> None:
        """Start a thread for the text and send what it makes."""
        await self.control(protocol.started(request.request_id))
        loop = asyncio.get_running_loop()
        made: asyncio.Queue[bytes | None] = asyncio.Queue()

        def work() -> None:
            with MODEL, suppress(RuntimeError):  # RuntimeError: the server has stopped, and its loop with it
                for sentence in sentences(request.text):
                    loop.call_soon_threadsafe(made.put_nowait, self.make(request, sentence))
                loop.call_soon_threadsafe(made.put_nowait, None)

        threading.Thread(target=work, daemon=True).start()
        size = 0
        while (pcm := await made.get()) is not None:
            size += len(pcm)
            await self.send(pcm)
        await self.control(protocol.completed(request.request_id, size / (2 * request.rate)))


app = speech_app(OrphaningSession)
