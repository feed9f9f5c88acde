"""Fault: the agent works on the event loop. Seen in https://github.com/aws/bedrock-agentcore-sdk-python/pull/46."""

import time
from collections.abc import AsyncGenerator

from contract_tests.agents.good.speech import Speech
from contract_tests.agents.good.standin import Event, Standin, agent_app

_BLOCKED_S = 4.0


class BlockedPing(Standin):
    """Turn during which nothing else happens."""

    async def spoken(self, speech: Speech, sentence: str) -> AsyncGenerator[Event]:
        """Yield the audio of a sentence, with something slow behind some of them."""
        async for event in super().spoken(speech, sentence):
            yield event
        if sentence.startswith("Good"):
            time.sleep(_BLOCKED_S)  # noqa: ASYNC251 - the fault


app = agent_app(BlockedPing)
