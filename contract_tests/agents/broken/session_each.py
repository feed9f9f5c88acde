"""Fault: a speech session for each sentence. Seen in https://github.com/vellum-ai/vellum-assistant/pull/20336."""

from collections.abc import AsyncGenerator

from contract_tests.agents.good.standin import Event, Standin, agent_app


class SessionEach(Standin):
    """Turn that opens its voice again and again."""

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield what happens."""
        async for sentence in self.sentences(prompt):
            yield {"type": "sentence", "text": sentence}
            async with self.voice() as speech:
                async for event in self.spoken(speech, sentence):
                    yield event


app = agent_app(SessionEach)
