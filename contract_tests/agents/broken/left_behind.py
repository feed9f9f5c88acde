"""Fault: a turn goes on when its caller has left. Seen in https://github.com/NousResearch/hermes-agent/pull/3427."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from contract_tests.agents.good.standin import Event, Standin, agent_app

TASKS: set[asyncio.Task[None]] = set()


class LeftBehind(Standin):
    """Turn that runs in a task of its own, to its end."""

    async def events(self, prompt: str) -> AsyncGenerator[Event]:
        """Yield what the task does; who stops reading does not stop it."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(self._work(prompt, queue))
        TASKS.add(task)
        while isinstance(item := await queue.get(), dict):
            yield item
        if item is not None:
            raise item

    async def _work(self, prompt: str, queue: asyncio.Queue[Any]) -> None:
        try:
            async for event in super().events(prompt):
                queue.put_nowait(event)
            queue.put_nowait(None)
        except Exception as error:  # noqa: BLE001 - it is raised where it is read
            queue.put_nowait(error)


app = agent_app(LeftBehind)
