"""Fault: an error of the voice is skipped. Seen in https://github.com/smallest-inc/smallest-python-sdk/issues/115."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from contract_tests.agents.good.speech import Speech
from contract_tests.agents.good.standin import Standin, agent_app


class DeafSpeech(Speech):
    """Session that knows one control message."""

    def spoken(self, event: dict[str, object]) -> bool:
        """Take a control message; tell whether it is the end, one way or another."""
        return event.get("type") in {"synthesis_complete", "error"}


class SkipsErrors(Standin):
    """Turn that is silent where its voice fails, and done."""

    def voice(self) -> AbstractAsyncContextManager[Speech]:
        """Open the voice of this turn."""
        return _opened()


@asynccontextmanager
async def _opened() -> AsyncIterator[Speech]:
    async with DeafSpeech.opened() as speech:
        yield speech


app = agent_app(SkipsErrors)
