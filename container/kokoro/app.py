"""The ASGI application: HTTP and WebSocket routes around a model that loads in the background."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from container.kokoro import hypercorn, logs
from container.kokoro.answers import AsciiJson
from container.kokoro.invocations import invoke
from container.kokoro.model import Model
from container.kokoro.sessions import Sessions
from container.kokoro.settings import Settings
from container.kokoro.speech import Speech
from container.kokoro.telemetry import Telemetry

STOP_S = 10
"""What all other connections get, once the sessions are over. SageMaker kills 30 s after SIGTERM."""
WEBSOCKET_PATH = "/invocations-bidirectional-stream"


def create_app(
    load: Callable[[], Speech], on_failure: Callable[[], None] = lambda: None, settings: Settings | None = None
) -> Starlette:
    """Build the application. `load` runs in a thread once the server starts.

    `app.state` has its `model` (Model), `sessions` (Sessions), `telemetry` (Telemetry), and the `loop` once it runs.
    """
    settings = settings or Settings()
    model, telemetry = Model(load), Telemetry()
    telemetry.limits(sessions=settings.max_sessions, queued=settings.max_queued, waiting=settings.max_waiting)
    sessions = Sessions(model, settings, telemetry)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        logs.set_up_unless_done(settings)
        app.state.loop = asyncio.get_running_loop()
        model.start(on_failure)
        ending = asyncio.create_task(end_with_hypercorn()) if hypercorn.is_loaded() else None
        yield
        if ending is not None:
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
        model.stop()

    async def end_with_hypercorn() -> None:
        await hypercorn.stops()
        await sessions.stop(settings.stop_grace_s)
        await hypercorn.end_connections(STOP_S)

    async def ping(_: Request) -> Response:
        if (reason := model.unready) is not None:
            return AsciiJson({"status": "unready", "reason": reason}, status_code=503)
        return Response(headers={"x-kokoro-model": model.description})

    async def invocations(request: Request) -> Response:
        return await invoke(request, model, settings, telemetry, sessions)

    async def speech(request: Request) -> Response:
        return await invoke(request, model, settings, telemetry, sessions, as_openai=True)

    async def metrics(_: Request) -> Response:
        telemetry.ready.set(model.unready is None)
        telemetry.waiting.set(model.waiting)
        if model.unready is None:
            telemetry.model(model.description)
        return Response(telemetry.exposition(), media_type=telemetry.content_type)

    async def stream(socket: WebSocket) -> None:
        await sessions.serve(socket)

    routes = [
        Route("/ping", ping, methods=["GET", "HEAD", "POST"]),  # the developer guide names GET here and POST there
        Route("/invocations", invocations, methods=["POST"]),
        Route("/v1/audio/speech", speech, methods=["POST"]),
        Route("/metrics", metrics, methods=["GET"]),
        WebSocketRoute(WEBSOCKET_PATH, stream),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.model, app.state.sessions, app.state.telemetry = model, sessions, telemetry
    return app
