"""Fault: one audio queue for everybody. Seen in https://github.com/KoljaB/RealtimeTTS/issues/230.

Works as long as there is one caller; with two, each gets what the other asked for, frame by frame.
"""

import asyncio
from collections import deque

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app

FRAME_S = 0.005

QUEUE: deque[bytes] = deque()


class SharingSession(Session):
    """Session that sends whatever is in the queue."""

    async def say(self, request: protocol.Say) -> None:
        """Put the frames into the queue, and send what comes out of it."""
        await self.control(protocol.started(request.request_id))
        pcm = await self.synthesise(request)
        QUEUE.extend(self.frames(pcm))
        try:
            while QUEUE:
                await self.ws.send_bytes(QUEUE.popleft())
                await asyncio.sleep(FRAME_S)
        finally:
            QUEUE.clear()
        await self.control(protocol.completed(request.request_id, self.duration_s(pcm, request.rate)))


app = speech_app(SharingSession)
