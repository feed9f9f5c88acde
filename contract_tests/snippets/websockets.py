"""The server of the `websockets` library. The good container is ``contract_tests/good/websockets_speech.py``."""

from contract_tests.stack import Stack
from contract_tests.verdict import Snippet

__all__ = ["CLOSE", "CONTROL_AS_TEXT", "GUARD", "LIMIT", "READ_BOTH", "SLICE"]


def _websockets(before: str, after: str) -> Snippet:
    return Snippet(Stack.WEBSOCKETS, before, after)


READ_BOTH = _websockets(
    """\
async for message in connection:
    if isinstance(message, str):
        await answer(message)""",
    """\
async for message in connection:
    await answer(message)                        # str or bytes: json.loads takes both""",
)
CONTROL_AS_TEXT = _websockets(
    "await connection.send(json.dumps(event).encode())    # bytes make a BINARY frame",
    "await connection.send(json.dumps(event))             # a str makes a TEXT frame",
)
GUARD = _websockets(
    """\
async for message in connection:
    await serve(json.loads(message))             # raises: closed with 1011""",
    """\
async for message in connection:
    try:
        request = parse(message)                 # JSON, an object, known type, valid fields
    except ValueError as problem:
        await connection.send(json.dumps({"type": "error", "message": str(problem)}))
        continue
    await serve(request)""",
)
SLICE = _websockets(
    "await connection.send(pcm)                       # as long as the text is",
    """\
for start in range(0, len(pcm), FRAME_BYTES):    # an even number: whole samples
    await connection.send(pcm[start : start + FRAME_BYTES])""",
)
LIMIT = _websockets("serve(handler, host, port, max_size=None)", "serve(handler, host, port, max_size=1 << 20)")
CLOSE = _websockets(
    'if request.get("type") == "close":\n    continue',
    'if request.get("type") == "close":\n    await connection.close(1000)\n    return',
)
