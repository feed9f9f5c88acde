"""A night clerk who does not sit around."""

import asyncio
import json
import sys

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum


class Clerk:
    patience = 1.8

    async def night(self, guest: ServerConnection) -> None:
        while True:
            try:
                async with asyncio.timeout(self.patience):
                    wish = await guest.recv()
            except TimeoutError:
                await guest.close(1000, "good night")
                return
            if not await self.serve(guest, wish):
                await guest.close(1000)
                return

    async def serve(self, guest: ServerConnection, wish: str | bytes) -> bool:
        try:
            order = json.loads(wish)
        except ValueError:
            order = None
        if isinstance(order, dict) and order.get("type") == "close":
            return False
        room = order.get("request_id", "none") if isinstance(order, dict) else "none"
        if (wrong := complaint(order)) is not None:
            await guest.send(json.dumps({"type": "error", "request_id": room, "message": wrong}))
            return True
        await guest.send(json.dumps({"type": "synthesis_start", "request_id": room}))
        sound = (await asyncio.to_thread(hum, order["text"], order.get("voice", VOICES[0]))).tobytes()
        for at in range(0, len(sound), 4800):
            await guest.send(sound[at : at + 4800])
        end = {"type": "synthesis_complete", "request_id": room, "total_duration_s": len(sound) / 2 / RATE}
        await guest.send(json.dumps(end))
        return True

    def bell(self, door: ServerConnection, request: Request) -> Response | None:
        return door.respond(200, "open") if request.path == "/ping" else None


async def main() -> None:
    clerk = Clerk()
    house: Server
    async with serve(clerk.night, "127.0.0.1", int(sys.argv[1]), process_request=clerk.bell) as house:
        await house.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
