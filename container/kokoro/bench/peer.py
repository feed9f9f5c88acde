"""The server around the package kokoro-onnx; runs in an environment that has only that package and websockets.

Each message is spoken by its own `create_stream`, with the defaults of its author; sessions run side by side.
"""

import argparse
import asyncio
import json
from http import HTTPStatus
from typing import Any

import numpy as np
from kokoro_onnx import Kokoro  # type: ignore[import-not-found,unused-ignore]  # another environment has it
from websockets.asyncio.server import serve


async def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--voices", required=True)
    options = parser.parse_args()
    kokoro = Kokoro(options.model, options.voices)

    def ping(connection: Any, request: Any) -> Any:
        return connection.respond(HTTPStatus.OK, "") if request.path == "/ping" else None

    async def session(connection: Any) -> None:
        async for message in connection:
            request = json.loads(message)
            if request.get("type") == "close":
                return
            await connection.send(json.dumps({"type": "synthesis_start"}))
            async for samples, _ in kokoro.create_stream(request["text"], voice=request["voice"]):
                await connection.send((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
            await connection.send(json.dumps({"type": "synthesis_complete"}))

    async with serve(session, "127.0.0.1", options.port, process_request=ping, compression=None, max_size=None):
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
