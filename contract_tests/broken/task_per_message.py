"""Fault: sentences overtake each other. Seen in https://github.com/twilio-labs/call-gpt/issues/2.

Each message gets a task of its own, and all of them write to the one socket.
"""

import asyncio

from contract_tests.good import protocol
from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app


class TaskPerMessageSession(PacedSession):
    """Session that speaks everything at once."""

    async def converse(self) -> None:
        """Converse; at the end nothing goes on."""
        self.tasks: set[asyncio.Task[None]] = set()
        try:
            await super().converse()
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    async def serve(self, request: protocol.Say | protocol.Close) -> bool:
        """Start a task for a request; close when all of them are done."""
        if isinstance(request, protocol.Close):
            await asyncio.gather(*self.tasks, return_exceptions=True)
            return await self.close()
        self.tasks.add(asyncio.create_task(self.say(request)))
        return True


app = speech_app(TaskPerMessageSession)
