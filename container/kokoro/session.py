"""One WebSocket session: a task that always reads, a task that speaks in order, a task that writes.

The reader never waits for anything but the client, so that its pings, its close and its loss are seen while the model
works. All three end together, whoever ends first.
"""

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass

from starlette.websockets import WebSocket, WebSocketDisconnect

from container.kokoro import messages
from container.kokoro.errors import RequestError
from container.kokoro.messages import Close, Utterance
from container.kokoro.model import Model
from container.kokoro.outbox import End, Outbox, Refusal

MAX_QUEUED = 64
"""Requests of one session that may wait."""

NORMAL, POLICY_VIOLATION, INTERNAL_ERROR = 1000, 1008, 1011

CLOSE_TIMEOUT_S = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ending:
    """A close frame."""

    code: int
    reason: str = ""


class Session:
    """Serves one accepted WebSocket until either side ends it."""

    def __init__(self, socket: WebSocket, model: Model) -> None:
        self._socket = socket
        self._model = model
        self._inbox: asyncio.Queue[Utterance | RequestError | Close] = asyncio.Queue()
        self._outbox = Outbox()
        self._closing = False
        self._ending: Ending | None = None
        """The close frame to send; None when the client is gone."""

    async def run(self) -> None:
        """Accept, serve, close. Returns when the connection is over; raises nothing for what a client does."""
        await self._socket.accept()
        tasks = [asyncio.create_task(work(), name=work.__name__) for work in (self._read, self._speak, self._write)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            if (error := task.exception()) is not None:
                _log.error("session task %s failed", task.get_name(), exc_info=error)
                self._ending = Ending(INTERNAL_ERROR, "internal error")
        if self._ending is not None:
            await self._close(self._ending)

    async def _read(self) -> None:
        """Read until the client is gone. What can't be understood takes its place in the queue as an error."""
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return
            # hypercorn's messages carry both keys, one of them None; "" and b"" are frames too
            text = message.get("text")
            try:
                self._accept(text if text is not None else message.get("bytes") or b"")
            except RequestError as error:
                if not self._outbox.refuse(messages.error(error)):
                    self._ending = Ending(POLICY_VIOLATION, "messages are sent, but the answers are not read")
                    return

    def _accept(self, payload: str | bytes) -> None:
        """Queue one message. Raises RequestError for what must be refused at once."""
        item: Utterance | RequestError | Close
        try:
            item = messages.parse(payload, self._model.voices)
            if isinstance(item, Utterance):
                self._model.speech(item.request_id)
        except RequestError as error:
            item = error
        request_id = "unknown" if isinstance(item, Close) else item.request_id
        if self._closing:
            raise RequestError("closing", "the session is closing; open another one", request_id=request_id)
        if isinstance(item, Close):
            self._closing = True
        elif self._inbox.qsize() >= MAX_QUEUED:
            raise RequestError(
                "queue_full",
                f"{MAX_QUEUED} requests wait in this session already; wait for a synthesis_complete",
                request_id=request_id,
            )
        self._inbox.put_nowait(item)

    async def _speak(self) -> None:
        """Answer the queue in order, until a close is reached."""
        while not isinstance(item := await self._inbox.get(), Close):
            try:
                if isinstance(item, RequestError):
                    raise item
                await self._utter(item)
            except RequestError as error:
                await self._outbox.put(messages.error(error))
        self._outbox.end()
        await asyncio.Event().wait()  # the writer ends the session, after the last frame

    async def _utter(self, utterance: Utterance) -> None:
        begun = time.monotonic()
        await self._outbox.put(messages.start(utterance))
        delivery = self._model.speech(utterance.request_id).utter(utterance)
        # aclosing: without it, an interrupted generator would drop its waiting sentence only at garbage collection
        async with aclosing(delivery.frames()) as frames:
            async for frame in frames:
                await self._outbox.put(frame)
        elapsed = time.monotonic() - begun
        await self._outbox.put(messages.complete(utterance, delivery.seconds, elapsed, delivery.unspoken))

    async def _write(self) -> None:
        """Send what the outbox holds, until its end or the loss of the client."""
        while True:
            frame = await self._outbox.take()
            if isinstance(frame, End):
                self._ending = Ending(NORMAL)
                return
            try:
                if isinstance(frame, bytes):
                    await self._socket.send_bytes(frame)
                else:
                    await self._socket.send_text(frame.text if isinstance(frame, Refusal) else frame)
            except (WebSocketDisconnect, OSError):
                return
            self._outbox.sent(frame)

    async def _close(self, ending: Ending) -> None:
        try:
            # a client that does not read would keep even the close frame waiting
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.close(ending.code, ending.reason)
        except (WebSocketDisconnect, OSError, RuntimeError):  # TimeoutError is an OSError
            _log.debug("the client was gone before the close frame")
