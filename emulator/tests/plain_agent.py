"""An agent of somebody else for the tests: no times in its events, and its audio in ``audio``."""

import json

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_EVENTS = [
    {"type": "text", "text": "Hello."},
    {"type": "audio_chunk", "audio": "AAAA"},
    {"type": "audio_chunk", "audio": "AAAA"},
    {"type": "done", "duration_s": None},
]


async def _invoke(_: Request) -> Response:
    return Response("".join(f"data: {json.dumps(event)}\n\n" for event in _EVENTS), media_type="text/event-stream")


async def _ping(_: Request) -> JSONResponse:
    return JSONResponse({"status": "Healthy", "time_of_last_update": 0})


app = Starlette(routes=[Route("/invocations", _invoke, methods=["POST"]), Route("/ping", _ping)])
