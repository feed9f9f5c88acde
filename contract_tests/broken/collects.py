"""Fault: all audio first, then the frames. Seen in https://github.com/OpenCSGs/csglite/pull/168.

There the first byte came after 6.449 s of 6.457 s. The frames are neat and many, so it looks like streaming.
"""

import asyncio

from contract_tests.good import protocol
from contract_tests.good.paced import PacedSession, sentences
from contract_tests.good.speech import speech_app


class CollectingSession(PacedSession):
    """Session that speaks when all has been made."""

    async def say(self, request: protocol.Say) -> None:
        """Make everything, then send it."""
        await self.control(protocol.started(request.request_id))
        pcm = b"".join([await asyncio.to_thread(self.speak, request, part) for part in sentences(request.text)])
        await self.send(pcm)
        await self.control(protocol.completed(request.request_id, self.duration_s(pcm, request.rate)))


app = speech_app(CollectingSession)
