"""Fault: waits for a first chunk. Seen in https://github.com/jing332/tts-server-android/issues/106.

The start of the audio is taken from a queue that the model fills. For "..." it yields nothing, the caller waits for
the end of an answer that never comes, and whatever is queued behind it waits as well.
"""

import asyncio

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class FirstChunkWaitSession(Session):
    """Session that is sure to get at least one chunk."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Wait for the model's first chunk."""
        chunks: asyncio.Queue[bytes] = asyncio.Queue()
        if pcm := await super().synthesise(request):
            chunks.put_nowait(pcm)
        return await chunks.get()


app = speech_app(FirstChunkWaitSession)
