"""The turns of one process: each with an agent of its own, and what they leave behind for the next one."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any

from strands import Agent, ModelRetryStrategy

from container.agent.memory import Memory
from container.agent.models import BedrockModels, ModelMaker
from container.agent.request import InvalidRequestError, Request, parse
from container.agent.sessions import SpeechSessions
from container.agent.settings import Settings
from container.agent.speech import SpeechSession
from container.agent.timeline import Timeline, sse
from container.agent.turn import Turn

__all__ = ["VoiceAgent"]


class VoiceAgent:
    """Starts turns and winds them up."""

    def __init__(self, settings: Settings, make_model: ModelMaker | None = None, *, tools: Sequence[Any] = ()) -> None:
        self._settings = settings
        self._make_model = make_model or BedrockModels(settings)
        self._tools = list(tools)
        self._memory = Memory()
        self._speech = SpeechSessions(self._session)
        self._turns: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether a turn is running or being wound up."""
        return bool(self._turns or self._ending)

    async def stream(self, payload: object, session_id: str | None, request_id: str | None) -> AsyncGenerator[bytes]:
        """Run one turn and yield its events as frames of text/event-stream. A caller that leaves ends the turn."""
        timeline = Timeline(request_id)
        try:
            turn, task = self.start(parse(payload), timeline=timeline, session_id=session_id)
        except InvalidRequestError as error:
            yield sse(timeline.error(error.code, str(error)))
            return
        finished = False
        try:
            async for event in turn.events():
                yield sse(event)
            finished = True
        finally:
            if not finished:
                task.cancel()  # and do not wait: what is awaited here is cancelled too

    def start(
        self, request: Request, *, timeline: Timeline, session_id: str | None, keep: bool = False
    ) -> tuple[Turn, "asyncio.Task[None]"]:
        """Start a turn of a conversation (None: of none). `keep`: the next one will use its speech session too.

        Raises InvalidRequestError.
        """
        if not self._settings.endpoint:
            raise InvalidRequestError(
                "the agent has no voice: set SPEECH_ENDPOINT to the name of a SageMaker endpoint that speaks",
                "not_configured",
            )
        agent = self._agent(session_id)
        kept_for = session_id if keep or self._settings.keep_sessions else None
        speech = self._speech.borrow(kept_for, request)
        turn = Turn(request, agent, speech, timeline, self._settings)

        async def run() -> None:
            try:
                await turn.run()
                if turn.memory is not None and session_id is not None:
                    self._memory.add(session_id, turn.before, turn.memory)
            finally:
                # in a task of its own, which a reader that leaves late does not cancel
                self._track(self._ending, self._speech.give_back(kept_for, request, speech))

        return turn, self._track(self._turns, run())

    @staticmethod
    def _track(tasks: "set[asyncio.Task[None]]", work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name="turn")
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    async def close(self) -> None:
        """End all turns, and let go of what was kept."""
        turns = list(self._turns)
        for task in turns:
            task.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._speech.close()
        if isinstance(self._make_model, BedrockModels):
            self._make_model.close()

    def _agent(self, session_id: str | None) -> Agent:
        """Make an agent for one turn: two invocations of one agent exclude each other."""
        return Agent(
            model=self._make_model(),
            messages=self._memory.recall(session_id),
            tools=self._tools,
            system_prompt=self._settings.system_prompt,
            callback_handler=None,
            # an answer that breaks off and is begun again would be spoken twice
            retry_strategy=ModelRetryStrategy(max_attempts=1),
        )

    def _session(self, request: Request) -> SpeechSession:
        return SpeechSession.to(
            self._settings.endpoint,
            self._settings.region,
            voice=request.voice or self._settings.voice,
            speed=request.speed,
            answer_timeout_s=self._settings.speech_timeout_s,
            work_timeout_s=self._settings.speech_work_timeout_s,
        )
