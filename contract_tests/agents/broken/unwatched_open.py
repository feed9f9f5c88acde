"""Fault: nobody looks at the task that listens to the voice. Seen in https://github.com/pipecat-ai/pipecat/pull/4803."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from contract_tests.agents.good.standin import Event, Standin, agent_app


class UnwatchedOpen(Standin):
    """Turn whose audio comes through a queue, from a task that may have ended long ago."""

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield what the task puts into the queue."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(self._work(prompt, queue))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self, prompt: str, queue: asyncio.Queue[Any]) -> None:
        async for event in super().events(prompt):
            queue.put_nowait(event)
        queue.put_nowait(None)


app = agent_app(UnwatchedOpen)
