"""Questions to a container over its own WebSocket, without the checks, and one word for what comes back."""

import asyncio
import http.client
import json
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from contract_tests.audio import inspect_pcm
from contract_tests.good.speech import STREAM_PATH

RATE = 24000
PATIENCE_S = 1.0
PING_LIMIT_S = 2.0
BAD: tuple[str | bytes, ...] = (
    "not json",
    "{}",
    '{"type": "Reset"}',
    "[1]",
    '{"text": ""}',
    '{"text": "Hi.", "voice": "nobody"}',
    b"\0\1",
    b"\xff",
    "",
)


@dataclass
class Turn:
    """What came back for one message; `outcome` is "complete", "error", "silence", "eof", "close N" or what is odd."""

    outcome: str = ""
    frames: list[bytes] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


async def ask(ws: ClientConnection, message: str | bytes) -> Turn:
    """Send one message and read to the end of its answer."""
    turn = Turn()
    try:
        await ws.send(message)
        while not turn.outcome:
            async with asyncio.timeout(PATIENCE_S):
                note(turn, await ws.recv())
    except TimeoutError:
        turn.outcome = "silence"
    except ConnectionClosed as closed:
        turn.outcome = f"close {closed.rcvd.code}" if closed.rcvd else "eof"
    return turn


def note(turn: Turn, message: str | bytes) -> None:
    try:
        event = json.loads(message)
    except ValueError:
        if isinstance(message, bytes):
            turn.frames.append(message)
            if not turn.events:
                turn.outcome = "audio before start"
        else:
            turn.outcome = "half an event"
        return
    if isinstance(message, bytes):
        turn.outcome = "binary event"
        return
    turn.events.append(event)
    if event["type"] != "synthesis_start":
        turn.outcome = event["type"].removeprefix("synthesis_")


def say(request_id: str, text: str = "Hello there, nice to meet you.", voice: str = "af_heart") -> str:
    return json.dumps({"text": text, "voice": voice, "request_id": request_id})


def dial(port: int) -> connect:
    return connect(f"ws://127.0.0.1:{port}{STREAM_PATH}", proxy=None, max_size=None, compression=None)


async def text_frame(port: int) -> str:
    async with dial(port) as ws:
        return (await ask(ws, say("t"))).outcome


async def binary_frame(port: int) -> str:
    async with dial(port) as ws:
        turn = await ask(ws, say("b").encode())
        if turn.outcome == "silence":  # the session is none the worse for it
            assert (await ask(ws, say("c"))).outcome == "complete"
        return turn.outcome


async def bad_message(port: int) -> str:
    async with dial(port) as ws:
        for message in BAD:
            turn = await ask(ws, message)
            if turn.outcome != "error":
                return turn.outcome if isinstance(message, str) else f"bad binary: {turn.outcome}"
            assert len(turn.events) == 1
        return (await ask(ws, say("g"))).outcome


async def sentences(port: int) -> str:
    async with dial(port) as ws:
        for index, voice in enumerate(["af_heart", "am_michael", "af_heart"]):
            turn = await ask(ws, say(f"s{index}", voice=voice))
            if turn.outcome != "complete":
                return f"sentence {index}: {turn.outcome}"
            if {event["request_id"] for event in turn.events} != {f"s{index}"}:
                return f"sentence {index}: foreign id"
            if not turn.frames:
                return f"sentence {index}: early end"
        return "complete"


async def audio(port: int) -> str:
    async with dial(port) as ws:
        turn = await ask(ws, say("p"))
    if turn.outcome != "complete":
        return turn.outcome
    if any(len(frame) > 12_100 for frame in turn.frames):
        return "large frame"
    declared = turn.events[-1]["total_duration_s"]
    if not isinstance(declared, float):
        return "no number"
    faults = inspect_pcm(turn.frames, RATE, declared)
    return ", ".join(fault.kind for fault in faults) or "sound"


async def close(port: int) -> str:
    async with dial(port) as ws:
        return (await ask(ws, '{"type": "close"}')).outcome


async def ping(port: int) -> str:
    async with dial(port) as ws:
        await (await ws.ping())  # a session is open by now, whatever it understands
        for method in ("GET", "HEAD", "POST"):
            status = await asyncio.to_thread(ping_status, port, method)
            if status != "200":
                break
        return status


def ping_status(port: int, method: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PING_LIMIT_S)
    try:
        connection.request(method, "/ping")
        return str(connection.getresponse().status)
    except TimeoutError:
        return "late"
    finally:
        connection.close()


PROBES = (text_frame, binary_frame, bad_message, sentences, audio, close, ping)
GOOD = {
    "text_frame": "complete",
    "binary_frame": "complete",
    "bad_message": "complete",
    "sentences": "complete",
    "audio": "sound",
    "close": "close 1000",
    "ping": "200",
}
