"""aiohttp. The good container is ``contract_tests/good/aiohttp_speech.py``."""

from contract_tests.stack import Stack
from contract_tests.verdict import Snippet

__all__ = ["CLOSE", "CONTROL_AS_TEXT", "FIRST_CHUNK", "GOODBYE", "GUARD", "LIMIT", "READER", "READ_BOTH", "SLICE"]


def _aiohttp(before: str, after: str) -> Snippet:
    return Snippet(Stack.AIOHTTP, before, after)


READ_BOTH = _aiohttp(
    """\
async for message in ws:
    if message.type == WSMsgType.TEXT:
        await answer(message.data)""",
    """\
async for message in ws:
    if message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
        await answer(message.data)               # str or bytes: json.loads takes both""",
)
CONTROL_AS_TEXT = _aiohttp(
    "await ws.send_bytes(json.dumps(event).encode())",
    "await ws.send_str(json.dumps(event))",
)
GUARD = _aiohttp(
    """\
async for message in ws:
    await serve(json.loads(message.data))""",
    """\
async for message in ws:
    try:
        request = parse(message.data)            # JSON, an object, known type, valid fields
    except ValueError as problem:
        await ws.send_str(json.dumps({"type": "error", "message": str(problem)}))
        continue
    await serve(request)""",
)
READER = _aiohttp(
    """\
async for message in ws:
    await synthesise(message.data)               # no Ping is answered meanwhile""",
    """\
speaker = asyncio.create_task(speak(backlog))    # takes requests from the queue
async for message in ws:                         # does nothing but read: so Pings are answered
    await backlog.put(message.data)""",
)
SLICE = _aiohttp(
    "await ws.send_bytes(pcm)                         # as long as the text is",
    """\
for start in range(0, len(pcm), FRAME_BYTES):    # an even number: whole samples
    await ws.send_bytes(pcm[start : start + FRAME_BYTES])""",
)
LIMIT = _aiohttp(
    "ws = web.WebSocketResponse()                     # 4 MiB; what is larger ends the session",
    "ws = web.WebSocketResponse(max_msg_size=1 << 20)",
)
FIRST_CHUNK = _aiohttp(
    """\
await response.prepare(request)                  # 200 is out before speak() has run
async for frame in speak(asked):
    await response.write(frame)""",
    """\
frames = speak(asked)
try:
    first = await anext(frames)                  # what can fail early fails here
except BadRequest as problem:
    return web.json_response({"error": str(problem)}, status=400)
await response.prepare(request)
await response.write(first)
async for frame in frames:
    await response.write(frame)""",
)
CLOSE = _aiohttp(
    'if request.get("type") == "close":\n    return ws',
    'if request.get("type") == "close":\n    await ws.close(code=1000)\n    return ws',
)
GOODBYE = _aiohttp(
    "web.run_app(app)                                 # gives open sessions a minute, and tells them nothing",
    """\
async def goodbye(app):
    for ws in set(sessions):
        await ws.close(code=WSCloseCode.GOING_AWAY)

app.on_shutdown.append(goodbye)
web.run_app(app, shutdown_timeout=20)""",
)
