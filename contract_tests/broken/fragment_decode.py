"""Fault: decodes each fragment. Seen in https://github.com/ballerina-platform/ballerina-lang/issues/12695.

A frame reader of one's own that turns every fragment into a string and joins the strings: a character that is cut in
two becomes two replacement characters. uvicorn joins bytes, so here its protocol is given that reader.
"""

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

from contract_tests.good.speech import speech_app

speech = speech_app()


def eager(handle: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return `handle` with the frame's bytes decoded beforehand, whatever they are cut from."""

    def decoded(frame: Any) -> None:
        whole = frame.fin and frame.opcode != 0  # 0: a continuation
        handle(frame if whole else replace(frame, data=bytes(frame.data).decode("utf-8", "replace").encode()))

    return decoded


async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """Replace the reader of uvicorn's protocol: `receive` is a method of it."""
    if scope["type"] == "websocket":
        protocol = receive.__self__
        protocol.handle_text = eager(protocol.handle_text)
        protocol.handle_cont = eager(protocol.handle_cont)
    await speech(scope, receive, send)
