"""Code with mistakes: what it is, its text, and of each finding the rule and the source line."""

__all__ = ["BAD"]

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
