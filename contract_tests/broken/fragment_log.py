"""Fault: a log line decodes each frame. Seen in https://github.com/python-websockets/websockets/pull/1711.

Messages are joined and decoded as they should be, but with debug logging on every frame is printed as text: a cut
inside a character raises where nobody expects it, and the connection is gone without a Close frame.
"""

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from contract_tests.good.speech import speech_app

speech = speech_app()
log = logging.getLogger(__name__)


def talkative(handle: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return `handle` with a log line in front of it."""

    def logged(frame: Any) -> None:
        if not frame.fin or frame.opcode == 0:  # 0: a continuation; whole messages are logged further up
            log.debug("< %s", bytes(frame.data).decode())
        handle(frame)

    return logged


async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """Put the log line into uvicorn's protocol: `receive` is a method of it."""
    if scope["type"] == "websocket":
        protocol = receive.__self__
        protocol.handle_text = talkative(protocol.handle_text)
        protocol.handle_cont = talkative(protocol.handle_cont)
    await speech(scope, receive, send)
