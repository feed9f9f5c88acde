"""Fault: NaN in an event. Seen in https://github.com/home-assistant/home-assistant-js-websocket/issues/80."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from contract_tests.agents.good.speech import Speech
from contract_tests.agents.good.standin import Event, Standin, agent_app


class TrustingSpeech(Speech):
    """Session that takes any number for a duration."""

    def checked(self, seconds: float) -> float | None:
        """Return what was declared."""
        return seconds


class NanDuration(Standin):
    """Turn that passes on what its voice declares."""

    def voice(self) -> AbstractAsyncContextManager[Speech]:
        """Open the voice of this turn."""
        return _opened()

    def frame(self, event: Event) -> bytes:
        """Return an event, NaN and all."""
        return f"data: {json.dumps(self.numbered(event))}\n\n".encode()


@asynccontextmanager
async def _opened() -> AsyncIterator[Speech]:
    async with TrustingSpeech.opened() as speech:
        yield speech


app = agent_app(NanDuration)
