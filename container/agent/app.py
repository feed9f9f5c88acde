"""The application: AgentCore's contract around an agent that speaks. POST /invocations, WebSocket /ws, GET /ping."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from bedrock_agentcore import BedrockAgentCoreApp, RequestContext
from bedrock_agentcore.runtime.context import BedrockAgentCoreContext
from bedrock_agentcore.runtime.models import PingStatus
from starlette.responses import StreamingResponse
from starlette.websockets import WebSocket

from container.agent.conversation import Conversation
from container.agent.models import ModelMaker
from container.agent.settings import Settings
from container.agent.voice import VoiceAgent

__all__ = ["create_app"]


def create_app(
    settings: Settings, make_model: ModelMaker | None = None, *, tools: Sequence[Any] = ()
) -> BedrockAgentCoreApp:
    """Make the application. `make_model` is Bedrock's where none is given, `tools` are those of the Strands agent."""
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

    @app.websocket
    async def converse(socket: WebSocket, context: RequestContext) -> None:
        start = partial(voice.start, session_id=context.session_id or str(uuid.uuid4()), keep=True)
        await Conversation(socket, start).run()

    @app.ping
    def ping() -> PingStatus:
        return PingStatus.HEALTHY_BUSY if voice.busy else PingStatus.HEALTHY

    return app
