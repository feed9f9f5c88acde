"""Fault: the audio of a turn is one event. Seen in https://github.com/aws/aws-sdk-ruby/issues/3348."""

import base64
from collections.abc import AsyncGenerator

from contract_tests.agents.good.standin import Event, Standin, agent_app


class Collects(Standin):
    """Turn that is heard when it is over."""

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield all audio at the end."""
        audio = b""
        async for event in super().events(prompt):
            if event["type"] == "audio_chunk":
                audio += base64.b64decode(event["data"])
            else:
                yield event
        yield {"type": "audio_chunk", "data": base64.b64encode(audio).decode()}


app = agent_app(Collects)
