"""The good speech container on the server of the `websockets` library, which answers `/ping` on the side.

Run as `python -m contract_tests.good.websockets_speech PORT`.
"""

import asyncio
import http
import json
import signal
import sys

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from contract_tests.good import protocol, tone
from contract_tests.good.invocations import FRAME_BYTES
from contract_tests.good.speech import STREAM_PATH

_LARGEST = 1 << 24


class WebsocketsSession:
    """One conversation on one socket; the library answers Pings by itself."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def run(self) -> None:
        """Answer one message after the other, until the caller closes or leaves."""
        try:
            async for message in self.connection:
                if not await self.answer(message):
                    await self.connection.close(1000)
        except ConnectionClosed:
            return

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; return whether the conversation goes on."""
        try:
            request = protocol.parse(payload)
        except protocol.MessageError as problem:
            await self.send(protocol.failed(problem))
            return True
        if isinstance(request, protocol.Close):
            return False
        await self.say(request)
        return True

    async def say(self, request: protocol.Say) -> None:
        """Send start, audio and complete of one request."""
        await self.send(protocol.started(request.request_id))
        pcm = tone.pcm16(tone.waveform(request.text, request.voice, request.rate, request.speed))
        for frame in tone.cut(pcm, FRAME_BYTES):
            await self.connection.send(frame)
            await asyncio.sleep(0)
        await self.send(protocol.completed(request.request_id, len(pcm) / (2 * request.rate)))

    async def send(self, event: protocol.Event) -> None:
        """Send one control event in a TEXT frame."""
        await self.connection.send(json.dumps(event))


def front(connection: ServerConnection, request: Request) -> Response | None:
    """Answer what is no WebSocket; None lets the upgrade pass."""
    path = request.path.partition("?")[0]
    if path == "/ping":
        return connection.respond(http.HTTPStatus.OK, "")
    return None if path == STREAM_PATH else connection.respond(http.HTTPStatus.NOT_FOUND, "")


async def main(session: type[WebsocketsSession] = WebsocketsSession) -> None:
    """Serve on 127.0.0.1 until SIGTERM; open sessions are then closed with 1001."""

    async def stream(connection: ServerConnection) -> None:
        await session(connection).run()

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with serve(
        stream, "127.0.0.1", int(sys.argv[1]), process_request=front, max_size=_LARGEST, ping_interval=None
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
