"""The mistakes that source code can show, why they matter on SageMaker, and what to write instead."""

from contract_tests.lint.finding import Rule
from contract_tests.verdict import Fix

__all__ = ["BLOCKING_CALL", "NO_CLOSE", "RULES", "TEXT_ONLY", "TEXT_TRUTH", "UNGUARDED_PARSE"]

TEXT_ONLY = Rule(
    id="L1",
    name="text-only-receive",
    check="CT1",
    why="A client that sets no DataType reaches the container in BINARY frames. What reads only text raises KeyError "
    "there under uvicorn, gets None under hypercorn, or drops the message without a word.",
    fix=Fix(
        "Take the raw message and accept both kinds.",
        before="text = await websocket.receive_text()",
        after="""\
message = await websocket.receive()
if message["type"] == "websocket.disconnect":
    break
text = message.get("text")
if text is None:
    text = message["bytes"].decode("utf-8")     # aiohttp: WSMsgType.BINARY, then msg.data.decode()""",
    ),
)
UNGUARDED_PARSE = Rule(
    id="L2",
    name="unguarded-parse",
    check="CT2",
    why="One message that is no JSON raises out of the receive loop, and the whole conversation is over, without a "
    "word to the caller.",
    fix=Fix(
        "Parse inside a `try` that stands inside the loop; answer with one error message and go on.",
        before="request = json.loads(text)",
        after="""\
try:
    request = json.loads(text)
except ValueError as problem:                   # JSONDecodeError and UnicodeDecodeError are both one
    await websocket.send_text(json.dumps({"type": "error", "message": str(problem)}))
    continue""",
    ),
)
BLOCKING_CALL = Rule(
    id="L3",
    name="blocking-call",
    check="CT5",
    why="A blocking call inside `async def` stops the event loop: /ping misses its 2 s, new sessions their 250 ms, and "
    "Pings go unanswered, so that SageMaker replaces a container that only works.",
    fix=Fix(
        "Hand it to a thread, or use the asynchronous counterpart.",
        before="audio = model.synthesize(text)",
        after="audio = await asyncio.to_thread(model.synthesize, text)    # time.sleep(): await asyncio.sleep()",
    ),
)
NO_CLOSE = Rule(
    id="L4",
    name="no-close",
    check="CT11",
    why="An ASGI handler that returns leaves the closing to its server: uvicorn 0.54 drops the connection without a "
    "Close frame, older ones leave it open, hypercorn closes with 1011. The caller cannot tell the end from a crash.",
    fix=Fix(
        "Close the WebSocket before the handler returns.",
        before='if request.get("type") == "close":\n    return',
        after='if request.get("type") == "close":\n    await websocket.close(1000)\n    return',
    ),
)
TEXT_TRUTH = Rule(
    id="L5",
    name="text-truth",
    check="CT1",
    why='An empty text is a valid text, but not true, and under hypercorn the key "text" is always there, with None '
    "for a BINARY frame: whether the text is true, or the key there, does not tell the two kinds of frames apart.",
    fix=Fix(
        "Ask whether the text is None.",
        before='if message.get("text"):                         # or: if "text" in message',
        after='if message.get("text") is not None:',
    ),
)
RULES = (TEXT_ONLY, UNGUARDED_PARSE, BLOCKING_CALL, NO_CLOSE, TEXT_TRUTH)
