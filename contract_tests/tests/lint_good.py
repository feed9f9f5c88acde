"""Code that looks like a mistake and is none: what it is, and its text."""

__all__ = ["GOOD"]

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
