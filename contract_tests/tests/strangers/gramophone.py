"""A thread for each listener, and numbers in network byte order."""

import json
import struct
import sys

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from contract_tests.tests.strangers.hum import RATE, VOICES, complaint, hum

GROOVE = 2400


def shop(counter: ServerConnection, request: Request) -> Response | None:
    return counter.respond(200, "open") if request.path == "/ping" else None


def listen(listener: ServerConnection) -> None:
    try:
        for wish in listener:
            order = read(wish)
            if isinstance(order, dict) and order.get("type") == "close":
                listener.close(1000)
                return
            play(listener, order)
    except ConnectionClosed:
        return


def read(wish: str | bytes) -> object:
    try:
        return json.loads(wish)
    except ValueError:
        return None


def play(listener: ServerConnection, order: object) -> None:
    record = order.get("request_id", "none") if isinstance(order, dict) else "none"
    wrong = complaint(order)
    if wrong is not None or not isinstance(order, dict):
        listener.send(json.dumps({"type": "error", "request_id": record, "message": wrong}))
        return
    listener.send(json.dumps({"type": "synthesis_start", "request_id": record}))
    samples = hum(order["text"], order.get("voice", VOICES[0]))
    for at in range(0, len(samples), GROOVE):
        groove = samples[at : at + GROOVE]
        listener.send(struct.pack(f"!{len(groove)}h", *groove))
    length = round(len(samples) / RATE, 3)
    listener.send(json.dumps({"type": "synthesis_complete", "request_id": record, "total_duration_s": length}))


if __name__ == "__main__":
    with serve(listen, "127.0.0.1", int(sys.argv[1]), process_request=shop, compression=None) as server:
        server.serve_forever()
