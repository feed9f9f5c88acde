"""Fault: the model runs on the event loop. Seen in https://github.com/OpenVoiceOS/ovos-tts-server/pull/147.

A plain call inside `async def`: while one sentence is computed, nothing else of this process gets a turn.
"""

import time

from contract_tests.broken.ping_locked import work_s
from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class BlockedLoopSession(Session):
    """Session whose model takes a while, and everybody with it."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Work where all others wait."""
        time.sleep(work_s(request.text))  # noqa: ASYNC251 - this is the fault
        return await super().synthesise(request)


app = speech_app(BlockedLoopSession)
