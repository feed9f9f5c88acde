"""Speech sessions over the real SDK and the real emulator, in front of scripted containers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from container.agent.speech import Audio, Event, SpeechSession
from container.agent.tests.conftest import InFront
from container.agent.tests.voices import Handler
from emulator.tests.containers import container

__all__ = ["COMPLETE", "START", "pcm", "speaking", "spoken"]

START, COMPLETE = '{"type":"synthesis_start","request_id":"{id}"}', '{"type":"synthesis_complete","request_id":"{id}"}'


@asynccontextmanager
async def speaking(
    handler: Handler, in_front: InFront, *, answer_timeout_s: float = 20, work_timeout_s: float = 20
) -> AsyncIterator[SpeechSession]:
    """A session to a container; afterwards none of its tasks may be left."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(120), container(handler) as target:
        running = asyncio.all_tasks() - before
        in_front(target.url)
        session = SpeechSession.to(
            "voice", "us-west-2", voice="af_heart", answer_timeout_s=answer_timeout_s, work_timeout_s=work_timeout_s
        )
        yield session
        await session.close()
        left = {task.get_name() for task in asyncio.all_tasks() - before - running}
        assert not {name for name in left if name.startswith("speech")}


async def spoken(session: SpeechSession, *sentences: str) -> list[Event]:
    """One turn."""
    for sentence in sentences:
        session.say(sentence)
    session.end_turn()
    return [event async for event in session.events()]


def pcm(events: list[Event]) -> bytes:
    return b"".join(event.pcm for event in events if isinstance(event, Audio))
