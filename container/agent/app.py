"""The application: AgentCore's contract (POST /invocations, GET /ping) around the turns of an agent that speaks."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bedrock_agentcore import BedrockAgentCoreApp, RequestContext
from bedrock_agentcore.runtime.context import BedrockAgentCoreContext
from bedrock_agentcore.runtime.models import PingStatus
from starlette.responses import StreamingResponse
from strands import Agent, ModelRetryStrategy
from strands.types.content import Messages

from container.agent.models import BedrockModels, ModelMaker
from container.agent.request import InvalidRequestError, Request, parse
from container.agent.settings import Settings
from container.agent.speech import SpeechSession
from container.agent.timeline import Timeline, sse
from container.agent.turn import Turn

__all__ = ["VoiceAgent", "create_app"]

MAX_CONVERSATIONS = 256
"""Conversations that are remembered; deployed, each session has a machine of its own, and so one."""

SpeechMaker = Callable[[Request], SpeechSession]

_log = logging.getLogger(__name__)


class VoiceAgent:
    """Makes and keeps the turns of one process."""

    def __init__(
        self,
        settings: Settings,
        make_model: ModelMaker | None = None,
        *,
        tools: Sequence[Any] = (),
    ) -> None:
        self._settings = settings
        self._make_model = make_model or BedrockModels(settings)
        self._tools = list(tools)
        self._conversations: OrderedDict[str, Messages] = OrderedDict()
        self._turns: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether a turn is running or being wound up."""
        return bool(self._turns)

    async def stream(self, payload: object, session_id: str | None, request_id: str | None) -> AsyncIterator[bytes]:
        """Run one turn and yield its events as frames of text/event-stream. A caller that leaves ends the turn."""
        timeline = Timeline(request_id)
        try:
            turn, task = self.start(payload, session_id, timeline)
        except InvalidRequestError as error:
            yield sse(timeline.event("error", code=error.code, message=str(error)))
            return
        finished = False
        try:
            async for event in turn.events():
                yield sse(event)
            finished = True
        finally:
            if not finished:
                task.cancel()  # and do not wait: what is awaited here is cancelled too

    def start(self, payload: object, session_id: str | None, timeline: Timeline) -> tuple[Turn, "asyncio.Task[None]"]:
        """Start a turn. Raises InvalidRequestError."""
        request = parse(payload)
        if not self._settings.endpoint:
            raise InvalidRequestError(
                "the agent has no voice: set SPEECH_ENDPOINT to the name of a SageMaker endpoint that speaks",
                "not_configured",
            )
        agent = self._agent(session_id)
        speech = self._speech(request)
        turn = Turn(request, agent, speech, timeline, self._settings)
        task = asyncio.create_task(self._run(turn, agent, speech, session_id), name="turn")
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        return turn, task

    async def close(self) -> None:
        """End all turns."""
        turns = list(self._turns)
        for task in turns:
            task.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
        if isinstance(self._make_model, BedrockModels):
            self._make_model.close()

    async def _run(self, turn: Turn, agent: Agent, speech: SpeechSession, session_id: str | None) -> None:
        try:
            await turn.run()
            if turn.completed and session_id is not None:
                self._remember(session_id, agent.messages)
        finally:
            await speech.close()

    def _agent(self, session_id: str | None) -> Agent:
        """Make an agent for one turn: two invocations of one agent exclude each other."""
        return Agent(
            model=self._make_model(),
            messages=list(self._conversations.get(session_id or "", [])),
            tools=self._tools,
            system_prompt=self._settings.system_prompt,
            callback_handler=None,
            # an answer that breaks off and is begun again would be spoken twice
            retry_strategy=ModelRetryStrategy(max_attempts=1),
        )

    def _speech(self, request: Request) -> SpeechSession:
        return SpeechSession.to(
            self._settings.endpoint,
            self._settings.region,
            voice=request.voice or self._settings.voice,
            speed=request.speed,
            answer_timeout_s=self._settings.speech_timeout_s,
            work_timeout_s=self._settings.speech_work_timeout_s,
        )

    def _remember(self, session_id: str, messages: Messages) -> None:
        """Keep a conversation. A turn that failed or was interrupted is not part of it: it left half an exchange."""
        self._conversations[session_id] = messages
        self._conversations.move_to_end(session_id)
        while len(self._conversations) > MAX_CONVERSATIONS:
            self._conversations.popitem(last=False)


def create_app(
    settings: Settings, make_model: ModelMaker | None = None, *, tools: Sequence[Any] = ()
) -> BedrockAgentCoreApp:
    """Make the application. `make_model` is Bedrock's, `tools` are those of the Strands agent."""
    voice = VoiceAgent(settings, make_model, tools=tools)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        yield
        await voice.close()

    app = BedrockAgentCoreApp(lifespan=lifespan)

    # not async: such a function would run on a second event loop, away from the body that it returns
    @app.entrypoint
    def invoke(payload: object, context: RequestContext) -> StreamingResponse:
        frames = voice.stream(payload, context.session_id, BedrockAgentCoreContext.get_request_id())
        # X-Accel-Buffering: a proxy must hand on each event as it comes
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        return StreamingResponse(frames, media_type="text/event-stream", headers=headers)

    @app.ping
    def ping() -> PingStatus:
        return PingStatus.HEALTHY_BUSY if voice.busy else PingStatus.HEALTHY

    return app
