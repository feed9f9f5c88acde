"""A container as a program: ``python -m emulator.tests.model PORT [MODE]``, the image of the control plane's tests.

A plain ASGI application under uvicorn, as most containers are. It answers with ``$GREETING``, and is not healthy until
the file ``$READY`` is there, if that names one; ``MODE`` breaks it in one way.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import uvicorn

GREETING = os.environ.get("GREETING", "hello")
READY = os.environ.get("READY")
MODE = sys.argv[2] if len(sys.argv) > 2 else "good"


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await _http(scope, receive, send)
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            said = message.get("text") or message["bytes"].decode()
            await send({"type": "websocket.send", "text": f"{GREETING} {said}"})


async def _http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    ping = scope["path"] == "/ping"
    status = 503 if ping and _loading() else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    if not ping:
        body = (await receive())["body"]
        await send({"type": "http.response.body", "body": GREETING.encode() + b" ", "more_body": True})
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _loading() -> bool:
    return MODE == "never-healthy" or (READY is not None and not Path(READY).exists())


def main() -> None:
    print("loading the model", flush=True)
    if MODE == "exits":
        print("CUDA driver version is insufficient", flush=True)
        sys.exit(3)
    if MODE == "ignores-sigterm":
        uvicorn.Server.capture_signals = _ignoring  # type: ignore[assignment,method-assign]
    port = int(sys.argv[1])
    uvicorn.run(app, host="127.0.0.1", port=0 if MODE == "wrong-port" else port, log_level="warning", lifespan="off")


def _ignoring(_: uvicorn.Server) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return contextlib.nullcontext()


if __name__ == "__main__":
    main()
