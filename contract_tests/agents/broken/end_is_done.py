"""Fault: the end of the socket is the end of the sentence. Seen in https://github.com/Migushthe2nd/MsEdgeTTS/issues/34."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from contract_tests.agents.good.speech import Speech
from contract_tests.agents.good.standin import Standin, agent_app


class TrustingSpeech(Speech):
    """Session that takes its end for a success."""

    def broken_off(self, how: str) -> None:
        """Be content."""


class EndIsDone(Standin):
    """Turn that looks complete whatever becomes of its voice."""

    def voice(self) -> AbstractAsyncContextManager[Speech]:
        """Open the voice of this turn."""
        return _opened()


@asynccontextmanager
async def _opened() -> AsyncIterator[Speech]:
    async with TrustingSpeech.opened() as speech:
        yield speech


app = agent_app(EndIsDone)
