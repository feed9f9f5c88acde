"""One WebSocket session: a task that always reads, a task that speaks in order, a task that writes.

The reader never waits for anything but the client (its messages, or that it takes the answers to them), so that its
pings, its cancels, its close and its loss are seen while the model works. All end together, whoever ends first.
"""

import asyncio
import logging
import time
from collections import deque
from contextlib import aclosing, suppress
from dataclasses import dataclass

from starlette.websockets import WebSocket, WebSocketDisconnect

from container.kokoro import messages
from container.kokoro.errors import RequestError
from container.kokoro.messages import Cancel, Close, Utterance
from container.kokoro.model import Model
from container.kokoro.outbox import MAX_REFUSALS, End, Frame, Outbox
from container.kokoro.settings import Settings
from container.kokoro.speech import Delivery
from container.kokoro.telemetry import Outcome, Telemetry, outcome_of

NORMAL, GOING_AWAY, POLICY_VIOLATION, INTERNAL_ERROR, TRY_AGAIN_LATER = 1000, 1001, 1008, 1011, 1013

CLOSE_TIMEOUT_S = 5
UNREAD_S = 1
"""How long so many answers may wait to be sent that there is no room for one more."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ending:
    """A close frame."""

    code: int
    reason: str = ""


@dataclass(eq=False)
class Request:
    """An utterance from its arrival to its last frame."""

    utterance: Utterance
    arrived: float
    """On the monotonic clock."""
    turn: float | None = None
    """When it was begun; None while it waits."""
    delivery: Delivery | None = None
    outcome: Outcome | None = None
    code: str | None = None
    """Of the error that it was answered with."""

    @property
    def seconds(self) -> float:
        """Length of its audio so far."""
        return self.delivery.seconds if self.delivery else 0.0


class Session:
    """Serves one accepted WebSocket until either side ends it."""

    def __init__(self, socket: WebSocket, model: Model, settings: Settings, telemetry: Telemetry) -> None:
        self._socket = socket
        self._model = model
        self._settings = settings
        self._telemetry = telemetry
        self._inbox: deque[Request | RequestError | Close] = deque()
        self._arrival = asyncio.Event()
        self._open: list[Request] = []
        """Requests whose last frame is not on its way yet, in order."""
        self._speaking: tuple[Request, asyncio.Task[None]] | None = None
        self._outbox = Outbox(MAX_REFUSALS + settings.max_queued)
        self._closing = False
        self._cut = asyncio.Event()
        self._active = time.monotonic()
        self._at_end = Ending(NORMAL)
        self._ending: Ending | None = None
        """The close frame to send; None when the client is gone."""

    async def run(self) -> None:
        """Accept, serve, close. Returns when the connection is over; raises nothing for what a client does."""
        await self._socket.accept()
        works = [self._read, self._speak, self._write, self._watch]
        tasks = [asyncio.create_task(work(), name=work.__name__) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for item in self._inbox:
                if isinstance(item, Request):
                    self._account(item)
        for task in done:
            if (error := task.exception()) is not None:
                _log.error("session task %s failed", task.get_name(), exc_info=error)
                self._ending = Ending(INTERNAL_ERROR, "internal error")
        if self._ending is not None:
            await self._close(self._ending)

    async def turn_away(self, *, stopping: bool) -> None:
        """Accept only to say why not: an error frame, then close code 1013, or 1001 when the server stops."""
        if stopping:
            error = RequestError("stopping", "the server is stopping; open another session")
        else:
            limit = f"{self._settings.max_sessions} sessions are open, which is the limit"
            error = RequestError("too_many_sessions", f"{limit}; try again later")
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.accept()
                await self._socket.send_text(messages.error(error))
                await self._socket.close(GOING_AWAY if stopping else TRY_AGAIN_LATER, error.code)
        except (WebSocketDisconnect, OSError, RuntimeError):  # TimeoutError is an OSError
            _log.debug("the client was gone before it was turned away")

    def stop(self) -> None:
        """Take no new requests, and close with 1001 once all is spoken."""
        self._at_end = Ending(GOING_AWAY, "the server is stopping")
        if not self._closing:
            self._closing = True
            self._queue(Close())

    def cut(self) -> None:
        """Close at once."""
        self._cut.set()

    async def _read(self) -> None:
        """Read until the client is gone. What can't be understood takes its place in the queue as an error."""
        while True:
            message = await self._socket.receive()
            if message["type"] != "websocket.receive":
                return
            self._active = time.monotonic()
            # hypercorn's messages carry both keys, one of them None; "" and b"" are frames too
            text = message.get("text")
            try:
                answers = self._accept(text if text is not None else message.get("bytes") or b"")
            except RequestError as error:
                self._telemetry.refused("websocket", error.code)
                answers = [messages.error(error)]
            for answer in answers:
                # messages that came in a burst are read without a pause, in which nothing was sent: that is no fault
                if not await self._outbox.put_urgent_within(answer, UNREAD_S):
                    self._ending = Ending(POLICY_VIOLATION, "messages are sent, but the answers are not read")
                    return

    def _accept(self, payload: str | bytes) -> list[str]:
        """Queue one message, or return what answers it at once. Raises RequestError for what is refused at once."""
        item: Utterance | RequestError | Close | Cancel
        try:
            item = messages.parse(payload, self._model.voices, self._settings.max_text)
            if isinstance(item, Utterance):
                self._model.speech(item.request_id)
        except RequestError as error:
            item = error
        if isinstance(item, Cancel):
            return self._cancel(item)
        request_id = "unknown" if isinstance(item, Close) else item.request_id
        if self._closing:
            raise RequestError("closing", "the session is closing; open another one", request_id=request_id)
        if isinstance(item, Close):
            self._closing = True
        elif len(self._inbox) >= self._settings.max_queued:
            raise RequestError(
                "queue_full",
                f"{len(self._inbox)} requests wait in this session already; wait for a synthesis_complete",
                request_id=request_id,
            )
        if isinstance(item, Utterance):
            request = Request(item, time.monotonic())
            self._open.append(request)
            self._queue(request)
            return []
        if isinstance(item, RequestError):  # counted now: the session may end before it is answered
            self._telemetry.refused("websocket", item.code)
        self._queue(item)
        return []

    def _queue(self, item: Request | RequestError | Close) -> None:
        self._inbox.append(item)
        self._arrival.set()

    def _cancel(self, cancel: Cancel) -> list[str]:
        """Stop requests wherever they are and forget their unsent audio; return the frames that say so."""
        ended = [request for request in self._open if cancel.means(request.utterance.request_id)]
        for request in ended:
            self._open.remove(request)
            self._outbox.drop(request)
            if self._speaking is not None and self._speaking[0] is request:
                self._speaking[1].cancel()
            elif request in self._inbox:
                self._inbox.remove(request)
                self._account(request)
        frames = [messages.cancelled_request(request.utterance, request.seconds) for request in ended]
        return [*frames, messages.cancelled(cancel, len(ended))]

    async def _speak(self) -> None:
        """Answer the queue in order, until a close is reached."""
        while True:
            while not self._inbox:
                self._arrival.clear()
                await self._arrival.wait()
            item = self._inbox.popleft()
            if isinstance(item, Close):
                break
            if isinstance(item, RequestError):
                await self._outbox.put(Frame(messages.error(item)))
                continue
            # a task of its own, so that it can be cancelled alone
            item.turn = time.monotonic()
            work = asyncio.create_task(self._answer(item))
            self._speaking = item, work
            try:
                await asyncio.wait({work})
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                self._speaking = None
                self._account(item)  # not in the task, which may be cancelled before its first step
            if not work.cancelled():
                work.result()
        self._outbox.end()
        await asyncio.Event().wait()  # the writer ends the session, after the last frame

    async def _answer(self, request: Request) -> None:
        utterance = request.utterance
        self._telemetry.in_flight.labels("websocket").inc()
        try:
            await self._outbox.put(Frame(messages.start(utterance), request))
            request.delivery = self._model.speech(utterance.request_id).utter(utterance)
            # aclosing: an interrupted generator would drop its waiting sentence only at garbage collection
            async with aclosing(request.delivery.frames()) as frames:
                async for frame in frames:
                    await self._outbox.put(Frame(frame, request))
            elapsed = request.delivery.elapsed_s
            end = messages.complete(utterance, request.seconds, elapsed, request.delivery.unspoken)
            await self._outbox.put(Frame(end, request, last=True))
            request.outcome = "complete"
        except RequestError as error:
            request.outcome, request.code = outcome_of(error), error.code
            await self._outbox.put(Frame(messages.error(error), request, last=True))
        finally:
            self._telemetry.in_flight.labels("websocket").dec()

    def _account(self, request: Request) -> None:
        """Count and log a request that is over, also one that was never begun."""
        outcome = request.outcome or ("disconnected" if request in self._open else "cancelled")
        self._telemetry.done(
            "websocket",
            request.utterance,
            request.delivery,
            outcome,
            queued_s=(request.turn or time.monotonic()) - request.arrived,
            code=request.code,
        )

    async def _write(self) -> None:
        """Send what the outbox holds, until its end, the loss of the client, or a client that reads nothing."""
        limit = self._settings.stall_s or None
        while True:
            frame = await self._outbox.take()
            if isinstance(frame, End):
                self._ending = self._at_end
                return
            if frame.last and isinstance(frame.owner, Request):
                self._open.remove(frame.owner)
                self._active = time.monotonic()
            try:
                async with asyncio.timeout(limit):
                    if isinstance(frame.payload, bytes):
                        await self._socket.send_bytes(frame.payload)
                    else:
                        await self._socket.send_text(frame.payload)
            except TimeoutError:
                self._ending = Ending(POLICY_VIOLATION, f"nothing that was sent was read in {limit:g} s")
                return
            except (WebSocketDisconnect, OSError):
                return

    async def _watch(self) -> None:
        """End a session that asks for nothing, and one that must end now."""
        limit = self._settings.idle_s or None
        while True:
            left = None if limit is None else limit if self._open else self._active + limit - time.monotonic()
            if left is not None and left <= 0:
                break
            try:
                async with asyncio.timeout(left):
                    await self._cut.wait()
            except TimeoutError:
                continue
            self._ending = self._at_end
            return
        message = f"nothing was asked for in {limit:g} s; open another session"
        self._outbox.put_urgent(messages.error(RequestError("idle", message)))
        self._outbox.end()
        # the writer ends the session as a rule, unless it waits for a client that reads nothing
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.stall_s or None):
                await self._cut.wait()
        self._ending = self._at_end

    async def _close(self, ending: Ending) -> None:
        try:
            # a client that does not read would keep even the close frame waiting
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.close(ending.code, ending.reason)
        except (WebSocketDisconnect, OSError, RuntimeError):  # TimeoutError is an OSError
            _log.debug("the client was gone before the close frame")
