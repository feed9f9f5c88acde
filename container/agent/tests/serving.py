"""The application on a real server, and a client that reads its events."""

# ruff: noqa: ASYNC110  # what /ping says can only be asked

import asyncio
import base64
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp

from container.agent.app import create_app
from container.agent.settings import Settings
from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import ScriptedModel
from container.agent.tests.voices import Handler
from emulator.bedrock.script import Script
from emulator.tests.containers import container

Event = dict[str, Any]


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serve `app` on this event loop; its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


@asynccontextmanager
async def agent(
    handler: Handler,
    model: Callable[[], ScriptedModel] | ScriptedModel | Script,
    in_front: InFront,
    *,
    tools: Sequence[Any] = (),
    **settings: Any,
) -> AsyncIterator[httpx.AsyncClient]:
    """The agent with the emulator behind it, and behind that a scripted container.

    The model is a scripted one, or the real BedrockModel, to which the emulator plays a script.
    """
    before = asyncio.all_tasks()
    async with asyncio.timeout(120), container(handler) as target:
        emulator = in_front(target.url)
        if isinstance(model, Script):
            emulator.play_bedrock(model)
        maker = (
            None if isinstance(model, Script) else partial(_same, model) if isinstance(model, ScriptedModel) else model
        )
        app = create_app(Settings(**{"endpoint": "voice", **settings}), maker, tools=tools)
        async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
            yield client
        # nothing of a turn may be left, whatever became of it
        names = {task.get_name() for task in asyncio.all_tasks() - before}
        assert not {name for name in names if name.startswith(("turn", "speech"))}, names


def _same(model: ScriptedModel) -> ScriptedModel:
    return model


def frames(body: bytes) -> list[Event]:
    """Take a whole answer apart, strictly."""
    assert body == b"" or body.endswith(b"\n\n")
    events = []
    for frame in body.split(b"\n\n")[:-1]:
        assert frame.startswith(b"data: ")
        assert frame.isascii()
        assert b"\n" not in frame
        events.append(json.loads(frame[6:], parse_constant=refuse))
    return events


def refuse(name: str) -> None:
    """Refuse what JSON does not have."""
    raise AssertionError(f"{name} in JSON")


async def invoke(client: httpx.AsyncClient, payload: object = None, **headers: str) -> list[Event]:
    """One turn: all its events."""
    payload = {"prompt": "Tell me."} if payload is None else payload
    answer = await client.post("/invocations", json=payload, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"
    return checked(frames(answer.content))


async def live(client: httpx.AsyncClient, payload: object = None) -> AsyncGenerator[Event]:
    """One turn, event by event as they come. Closing it early is a client that leaves."""
    async with client.stream("POST", "/invocations", json=payload or {"prompt": "Tell me."}) as answer:
        body = b""
        async for block in answer.aiter_raw():
            body += block
            while b"\n\n" in body:
                frame, body = body.split(b"\n\n", 1)
                (event,) = frames(frame + b"\n\n")
                yield event
        assert body == b""


async def idle(client: httpx.AsyncClient) -> None:
    """Wait until everything has been wound up."""
    async with asyncio.timeout(20):
        while (await client.get("/ping")).json()["status"] != "Healthy":
            await asyncio.sleep(0.02)


def checked(events: list[Event]) -> list[Event]:
    """Assert what holds for every turn."""
    assert [event["seq"] for event in events] == list(range(len(events)))
    times = [event["t_ms"] for event in events]
    assert times == sorted(times)
    assert times[0] == 0
    assert len({event["request_id"] for event in events}) == 1
    assert events[-1]["type"] in ("done", "error")
    assert not {"done", "error"} & set(kinds(events[:-1]))
    return events


def kinds(events: list[Event]) -> list[str]:
    """Return the types, in order."""
    return [event["type"] for event in events]


def of(events: list[Event], kind: str) -> list[Event]:
    """Return the events of one type."""
    return [event for event in events if event["type"] == kind]


def chunks(events: list[Event]) -> list[bytes]:
    """Return the audio of each chunk, which must decode alone."""
    return [base64.b64decode(event["data"], validate=True) for event in of(events, "audio_chunk")]


def audio(events: list[Event]) -> bytes:
    """Return all audio, of chunks of whole samples."""
    assert all(chunk and len(chunk) % 2 == 0 for chunk in chunks(events))
    return b"".join(chunks(events))
