"""What is measured against: a server of the shape of AWS's Kokoro sample, on the same engine and the same weights.

One WebSocket message is one text; a lock lets one request in at a time; the whole text is spoken before its first frame
goes out, and each model call's audio is one frame. `python -m container.kokoro.bench.naive --port N`.
"""

import argparse
import asyncio
import json
import time

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from container.kokoro import engine, pcm
from container.kokoro.app import WEBSOCKET_PATH
from container.kokoro.engine import Engine
from container.kokoro.phonemes import Phonemizer
from container.kokoro.speech import Reader
from container.kokoro.weights import resolve


def create_app(model: Engine, phonemizer: Reader) -> Starlette:
    """Build the application around a loaded model."""
    lock = asyncio.Lock()

    def synthesise(text: str, voice: str) -> list[bytes]:
        return [pcm.encode(model.synthesise(run, voice, 1.0)) for run in phonemizer.read(text, voice[0]).runs]

    async def ping(_: Request) -> Response:
        return Response("OK")

    async def stream(socket: WebSocket) -> None:
        await socket.accept()
        try:
            while True:
                message = json.loads(await socket.receive_text())  # contract: ignore[L1,L2] - naive, on purpose
                if message.get("type") == "close":
                    await socket.close()
                    return
                begun = time.monotonic()
                request_id = message.get("request_id", "unknown")
                await socket.send_text(json.dumps({"type": "synthesis_start", "request_id": request_id}))
                async with lock:
                    voice = message.get("voice", "af_heart")
                    segments = await asyncio.to_thread(synthesise, message["text"], voice)
                for segment in segments:
                    await socket.send_bytes(segment)
                seconds = sum(map(len, segments)) / 2 / pcm.MODEL_RATE
                end = {"total_duration_s": seconds, "elapsed_s": time.monotonic() - begun}
                await socket.send_text(json.dumps({"type": "synthesis_complete", "request_id": request_id, **end}))
        except WebSocketDisconnect:
            return

    return Starlette(routes=[Route("/ping", ping), WebSocketRoute(WEBSOCKET_PATH, stream)])


def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--engine", default="onnx")
    options = parser.parse_args()
    weights = resolve("auto", options.engine)
    app = create_app(engine.load(options.engine, weights), Phonemizer())
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning", ws_max_size=1 << 20)


if __name__ == "__main__":
    main()
