"""The linter: it points at the mistakes, and at nothing else."""

import textwrap
from pathlib import Path

import pytest

from contract_tests.lint.linter import NoSuchPathError, lint, lint_source
from contract_tests.lint.rules import RULES
from contract_tests.lint.source import Source

ROOT = Path(__file__).parents[2]


def found(text: str) -> list[tuple[str, str]]:
    """Return rule and source line of each finding."""
    text = textwrap.dedent(text)
    lines = text.splitlines()
    return [(each.rule.id, lines[each.line - 1].strip()) for each in lint_source(Source.parse(text, Path("app.py")))]


BAD = {
    "the loop that everybody writes first": (
        """
        from fastapi import FastAPI, WebSocket, WebSocketDisconnect
        import json
        app = FastAPI()

        @app.websocket("/invocations-bidirectional-stream")
        async def stream(websocket: WebSocket):
            await websocket.accept()
            try:
                while True:
                    data = await websocket.receive_text()
                    request = json.loads(data)
                    if request.get("type") == "close":
                        break
                    audio = model.synthesize(request["text"])
                    await websocket.send_bytes(audio)
            except WebSocketDisconnect:
                pass
        """,
        [
            ("L1", "data = await websocket.receive_text()"),
            ("L2", "request = json.loads(data)"),
            ("L4", "break"),
            ("L3", 'audio = model.synthesize(request["text"])'),
        ],
    ),
    "iter_text, and receive_json in its default mode": (
        """
        async def stream(ws):
            await ws.accept()
            async for text in ws.iter_text():
                await ws.send_text(text)
            first = await ws.receive_json()
            await ws.close()
        """,
        [("L1", "async for text in ws.iter_text():"), ("L1", "first = await ws.receive_json()")],
    ),
    "a socket that is kept in an object": (
        """
        from starlette.websockets import WebSocket

        class Conversation:
            def __init__(self, socket: WebSocket):
                self.socket = socket

            async def run(self):
                while True:
                    message = await self.socket.receive()
                    if message["type"] == "websocket.disconnect":
                        return
                    await self.answer(message["text"])
                    await self.socket.close()
        """,
        [("L1", 'await self.answer(message["text"])')],
    ),
    "aiohttp with a branch for text": (
        """
        from aiohttp import web, WSMsgType

        async def stream(request):
            ws = web.WebSocketResponse()
            await ws.prepare(request)
            async for msg in ws:
                if msg.type == WSMsgType.TEXT:
                    await ws.send_bytes(await speak(msg.data))
                elif msg.type == WSMsgType.ERROR:
                    break
            return ws
        """,
        [("L1", "if msg.type == WSMsgType.TEXT:")],
    ),
    "the websockets library with a branch for str": (
        """
        import websockets

        async def stream(ws):
            async for message in ws:
                if isinstance(message, str):
                    await ws.send(await speak(message))

        async def main():
            async with websockets.serve(stream, "0.0.0.0", 8080):
                await forever()
        """,
        [("L1", "if isinstance(message, str):")],
    ),
    "an endpoint class for text": (
        """
        import json
        from starlette.endpoints import WebSocketEndpoint

        class Stream(WebSocketEndpoint):
            encoding = "text"

            async def on_receive(self, websocket, data):
                await self.speak(websocket, json.loads(data))
        """,
        [("L1", 'encoding = "text"'), ("L2", "await self.speak(websocket, json.loads(data))")],
    ),
    "a parser in a helper that the loop calls": (
        """
        import json
        from starlette.websockets import WebSocket

        def parse(raw):
            return json.loads(raw)

        async def stream(ws: WebSocket):
            while True:
                request = parse(await raw_message(await ws.receive()))
                await ws.send_text(request["text"])
        """,
        [("L2", "return json.loads(raw)")],
    ),
    "a try around the loop instead of inside it": (
        """
        import json
        from starlette.websockets import WebSocket

        async def stream(ws: WebSocket):
            try:
                while True:
                    request = json.loads((await ws.receive_bytes()).decode())
            except ValueError:
                await ws.close(1003)
        """,
        [("L2", "request = json.loads((await ws.receive_bytes()).decode())")],
    ),
    "truth in the place of None": (
        """
        async def stream(websocket):
            while True:
                message = await websocket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                if "text" in message:
                    text = message["text"]
                else:
                    text = message["bytes"].decode()
                other = message.get("text") or message["bytes"].decode()
                await websocket.close()
        """,
        [
            ("L5", 'if "text" in message:'),
            ("L5", 'other = message.get("text") or message["bytes"].decode()'),
        ],
    ),
    "blocking calls under other names": (
        """
        import subprocess as sp
        import requests
        from time import sleep

        def work(text):
            sleep(1)

        async def handler(request):
            sleep(1)
            requests.post("http://model", json={})
            sp.run(["piper"])
            work("x")
            for chunk in engine.synthesise("text"):
                pass
            await ws.send_bytes(engine.tts("text"))
        """,
        [
            ("L3", "sleep(1)"),
            ("L3", 'requests.post("http://model", json={})'),
            ("L3", 'sp.run(["piper"])'),
            ("L3", 'work("x")'),
            ("L3", 'for chunk in engine.synthesise("text"):'),
            ("L3", 'await ws.send_bytes(engine.tts("text"))'),
        ],
    ),
    "plain ASGI that returns": (
        """
        async def app(scope, receive, send):
            await receive()
            await send({"type": "websocket.accept"})
            while True:
                message = await receive()
                if message["type"] == "websocket.disconnect":
                    return
                payload = message.get("text") if message.get("text") is not None else message["bytes"]
                if wants_close(payload):
                    return
        """,
        [("L4", "return")],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_points_at_the_line(name: str) -> None:
    text, expected = BAD[name]
    assert found(text) == expected


GOOD = {
    "fastapi with dependencies, both kinds of frames, and a close": """
        import asyncio
        import json
        from typing import Annotated
        from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect, status
        router = APIRouter()

        @router.websocket("/invocations-bidirectional-stream")
        async def stream(websocket: WebSocket, model: Annotated[Model, Depends(get_model)]) -> None:
            await websocket.accept()
            try:
                while True:
                    message = await websocket.receive()
                    if message["type"] == "websocket.disconnect":
                        break
                    text = message.get("text")
                    if text is None:
                        text = message["bytes"].decode()
                    try:
                        request = json.loads(text)
                    except json.JSONDecodeError as problem:
                        await websocket.send_json({"type": "error", "message": str(problem)})
                        continue
                    if request.get("type") == "close":
                        break
                    audio = await asyncio.to_thread(model.synthesize, request["text"])
                    await websocket.send_bytes(audio)
            except WebSocketDisconnect:
                return
            finally:
                await websocket.close(code=status.WS_1000_NORMAL_CLOSURE)
        """,
    "an endpoint class that takes both": """
        import json
        from starlette.endpoints import WebSocketEndpoint

        class Stream(WebSocketEndpoint):
            encoding = None

            async def on_receive(self, websocket, data):
                try:
                    request = json.loads(data)
                except ValueError:
                    await websocket.send_text("{}")
                    return
                await websocket.send_bytes(await self.model.synthesize(request["text"]))
        """,
    "aiohttp with both branches": """
        import json
        from aiohttp import web, WSMsgType

        async def stream(request):
            ws = web.WebSocketResponse(heartbeat=None)
            await ws.prepare(request)
            async for msg in ws:
                if msg.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    try:
                        asked = json.loads(msg.data)
                    except (UnicodeDecodeError, json.JSONDecodeError):
                        await ws.send_json({"type": "error"})
                        continue
                    if asked.get("type") == "close":
                        break
                    await ws.send_bytes(await speak(asked))
            return ws
        """,
    "the websockets library, str or bytes": """
        import json
        from websockets.asyncio.server import ServerConnection, serve

        async def stream(connection: ServerConnection) -> None:
            async for message in connection:
                if isinstance(message, str):
                    message = message.encode()
                try:
                    asked = json.loads(message)
                except ValueError:
                    continue
                for chunk in asked["chunks"]:
                    await connection.send(chunk)

        async def audio(connection: ServerConnection) -> None:
            async for message in connection:
                if not isinstance(message, str):
                    await feed(message)
        """,
    "a reader that hands its messages on": """
        import asyncio
        from starlette.websockets import WebSocket

        class Session:
            def __init__(self, ws: WebSocket) -> None:
                self._ws = ws
                self._queue: asyncio.Queue = asyncio.Queue()

            async def read(self) -> None:
                while (message := await self._ws.receive())["type"] == "websocket.receive":
                    await self._queue.put(message)

            async def next(self):
                while True:
                    message = await self._ws.receive()
                    if message.get("text") is not None and len(message["text"]) > 10:
                        return self.decode(message)
                    return payload_of(message)

            async def aclose(self) -> None:
                await self._ws.close(1000)
        """,
    "clients are not containers": """
        import asyncio, json, time
        import aiohttp, websockets
        from httpx_ws import aconnect_ws

        async def probe(url):
            async with aconnect_ws(url) as ws:
                while True:
                    event = json.loads(await ws.receive_text())
                    if event["type"] == "done":
                        return
            async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
                async for msg in socket:
                    if msg.type == aiohttp.WSMsgType.TEXT:
                        json.loads(msg.data)
            async with websockets.connect(url) as connection:
                async for message in connection:
                    if isinstance(message, str):
                        print(json.loads(message))

        def measured():
            time.sleep(1)
        """,
    "tests with Starlette's client": """
        from starlette.testclient import TestClient

        def test_stream():
            with TestClient(app).websocket_connect("/invocations-bidirectional-stream") as ws:
                ws.send_text("{}")
                assert ws.receive_text() == "{}"
        """,
    "coroutines and asynchronous generators of a model": """
        import asyncio

        async def speak(ws, engine, text):
            async for chunk in engine.synthesize(text):
                await ws.send_bytes(chunk)
            audio = await asyncio.wait_for(engine.synthesize(text), 5)
            stream = engine.synthesize(text)
            async for chunk in stream:
                await ws.send_bytes(chunk)
            job = engine.transcribe(text)
            await asyncio.gather(job)
            await asyncio.sleep(1)
            await asyncio.get_running_loop().run_in_executor(None, lambda: engine.synthesize(text))
            return engine.synthesize(text)
        """,
    "a variable with the name of a module": """
        import asyncio

        async def work():
            requests = asyncio.Queue()
            return await asyncio.wait_for(requests.get(), 1)
        """,
    "a model class of one's own": """
        class Model:
            async def synthesize(self, text):
                return b""

        async def handler(ws, model):
            pending = [model.synthesize(word) for word in "a b".split()]
        """,
    "an ASGI middleware and a lifespan": """
        async def middleware(scope, receive, send):
            while True:
                message = await receive()
                if not message.get("more_body"):
                    break
            await app(scope, receive, send)
        """,
    "errors of the parser that are caught further out in the same loop": """
        import json
        from starlette.websockets import WebSocket
        from app.errors import BadRequest

        async def stream(ws: WebSocket):
            while True:
                try:
                    message = await ws.receive()
                    text = message["text"] if message.get("text") is not None else message["bytes"].decode()
                    await serve(ws, json.loads(text))
                except (BadRequest, Exception) as problem:
                    await ws.send_text(str(problem))
                if (await state()).done:
                    return
        """,
}


@pytest.mark.parametrize("name", GOOD)
def test_does_not_cry_wolf(name: str) -> None:
    assert found(GOOD[name]) == []


@pytest.mark.parametrize("folder", ["container/kokoro", "contract_tests/good", "contract_tests/checks"])
def test_what_is_known_to_be_good_has_no_finding(folder: str) -> None:
    result = lint((ROOT / folder).glob("*.py"))  # not its bench, which holds a naive server to compare with
    assert result.files > 5
    assert result.findings == ()
    assert result.unread == ()


def test_broken_containers_whose_fault_can_be_seen_have_the_fitting_finding() -> None:
    result = lint([ROOT / "contract_tests" / "broken"])
    assert {(each.path.stem, each.rule.id) for each in result.findings} == {
        ("blocked_loop", "L3"),
        ("fastapi_receive_json", "L1"),
        ("receive_text", "L1"),
        ("return_without_close", "L4"),
        ("text_only_branch", "L1"),
        ("text_only_branch", "L5"),
        ("unguarded_json", "L2"),
    }


@pytest.mark.parametrize(
    ("comment", "ids"),
    [
        ("", ["L1", "L2"]),
        ("  # contract: ignore[L1]", ["L2"]),
        ("  # contract: ignore[L1, L2] - only our own client comes here", []),
        ("  # contract: ignore", []),
        ("  # contract: ignore[L3]", ["L1", "L2"]),
    ],
)
def test_a_comment_switches_a_rule_off(comment: str, ids: list[str]) -> None:
    text = f"""
async def stream(websocket):
    while True:
        request = json.loads(await websocket.receive_text()){comment}
"""
    assert sorted(rule for rule, _ in found("import json\n" + text)) == ids


def test_folders_are_searched_without_what_is_not_ones_own(tmp_path: Path) -> None:
    bad = "async def stream(ws):\n    await ws.receive_text()\n"
    for place in ("app.py", "pkg/server.py", ".hidden/x.py", "node_modules/x.py", "env/lib/x.py", "notes.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(bad, "utf-8")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "pkg" / "old.py").write_text("print 'python 2'\n", "utf-8")
    (tmp_path / "pkg" / "odd.py").write_bytes(b"\xff\xfe\x00")
    result = lint([tmp_path, tmp_path / "app.py"])
    assert [str(each.path.relative_to(tmp_path)) for each in result.findings] == ["app.py", "pkg/server.py"]
    assert result.files == 4
    assert {path.name: why.split(":")[0] for path, why in result.unread} == {
        "old.py": "is no Python 3.12",
        "odd.py": "is no Python 3.12",
    }


@pytest.mark.parametrize(("name", "words"), [("nowhere", "no such file"), ("app.js", "no Python file")])
def test_a_path_that_cannot_be_looked_at(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "app.js").touch()
    with pytest.raises(NoSuchPathError, match=words):
        lint([tmp_path / name])


def test_every_rule_is_complete() -> None:
    assert [rule.id for rule in RULES] == [f"L{number}" for number in range(1, len(RULES) + 1)]
    for rule in RULES:
        assert rule.why.endswith(".")
        assert rule.fix.after
        assert rule.check.startswith("CT")
