"""The ASGI application: `/ping`, `/invocations` and the WebSocket, around a model that loads in the background."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from container.kokoro.invocations import invoke
from container.kokoro.model import Model
from container.kokoro.session import Session
from container.kokoro.speech import Speech

WEBSOCKET_PATH = "/invocations-bidirectional-stream"


def create_app(load: Callable[[], Speech], on_failure: Callable[[], None] = lambda: None) -> Starlette:
    """Build the application. `load` runs in a thread once the server starts; `app.state.model` is its Model."""
    model = Model(load)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        model.start(on_failure)
        yield
        model.stop()

    async def ping(_: Request) -> Response:
        if (reason := model.unready) is not None:
            return JSONResponse({"status": "unready", "reason": reason}, status_code=503)
        return Response(headers={"x-kokoro-model": model.description})

    async def invocations(request: Request) -> Response:
        return await invoke(request, model)

    async def stream(socket: WebSocket) -> None:
        await Session(socket, model).run()

    routes = [
        Route("/ping", ping, methods=["GET", "HEAD", "POST"]),  # the developer guide names GET here and POST there
        Route("/invocations", invocations, methods=["POST"]),
        WebSocketRoute(WEBSOCKET_PATH, stream),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.model = model
    return app
