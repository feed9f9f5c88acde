"""Bedrock Runtime, served: reads requests, keeps the script's times, writes events."""

import asyncio
import contextlib
import json
import logging
import uuid
from collections import Counter

from emulator import facts
from emulator.bedrock import timeline
from emulator.bedrock.failure import error as scripted_error
from emulator.bedrock.request import Conversation, Operation
from emulator.bedrock.script import Script, Turn
from emulator.exchange import Exchange, answer, answer_error, read_body
from emulator.http1.signature import check_signature
from emulator.http2 import ClientGoneError
from emulator.switches import Switches
from emulator.trace import without_secrets
from emulator.wire.exceptions import RequestError
from emulator.wire.request import CONTENT_TYPE

__all__ = ["Bedrock"]

_log = logging.getLogger("emulator.bedrock")
_STOPPED = "The emulator was stopped while the model was answering."


class Bedrock:
    """Serves ``Converse`` and ``ConverseStream`` with a script."""

    def __init__(self, switches: Switches, script: Script | None = None) -> None:
        self._switches = switches
        self._stopping = asyncio.Event()
        self.play(script or Script())

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a raw path is one of its operations."""
        return Operation.of(path) is not None

    def play(self, script: Script) -> None:
        """Answer new requests with this script; may be called from any thread."""
        self._script, self._asked = script, Counter[int]()

    def stop(self) -> None:
        """End what is running, with an exception."""
        self._stopping.set()

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request, whatever comes."""
        began = asyncio.get_running_loop().time()
        head = [("x-amzn-requestid", str(uuid.uuid4()))]
        try:
            operation = Operation.of(exchange.path)
            assert operation is not None  # noqa: S101  # the router asked serves()
            body = await read_body(exchange, _check_size)
            conversation = Conversation.parse(operation, exchange.method, exchange.path, body)
            check_signature(exchange, body, facts.text("bedrock.sigv4"), self._switches)
            turn = self._turn(conversation)
            if operation is Operation.CONVERSE:
                await self._whole(exchange, turn, conversation, began, head)
            else:
                await self._stream(exchange, turn, conversation, began, head)
        except RequestError as error:
            _log.warning("%s answered with %s", without_secrets(exchange.path), error)
            with contextlib.suppress(ClientGoneError):
                await answer_error(exchange, error, head, "message")

    def _turn(self, conversation: Conversation) -> Turn:
        script, asked = self._script, self._asked
        turn = script.choose(conversation.prompt, conversation.tool_rounds)
        number = script.turns.index(turn)
        asked[number] += 1
        if turn.times and asked[number] > turn.times:
            turn = turn.healthy()
        if turn.refuse is not None:
            raise scripted_error(turn.refuse)
        if turn.tool is not None and turn.tool.name not in conversation.tools:
            _log.warning(
                "the script uses the tool %s, the request offers %s", turn.tool.name, list(conversation.tools) or "none"
            )
        return turn

    async def _whole(
        self, exchange: Exchange, turn: Turn, asked: Conversation, began: float, head: list[tuple[str, str]]
    ) -> None:
        if not await self._wait_until(None if turn.fail == "stall" else began + timeline.duration(turn)):
            raise RequestError(503, "ServiceUnavailableException", _STOPPED)
        if turn.fail == "cut":
            exchange.reset()
            return
        if turn.fail is not None:
            raise scripted_error(turn.fail)
        body = json.dumps(timeline.answer(turn, _tool_use_id(), asked.input_tokens)).encode()
        await answer(exchange, 200, [("content-type", "application/json"), *head], body)

    async def _stream(
        self, exchange: Exchange, turn: Turn, asked: Conversation, began: float, head: list[tuple[str, str]]
    ) -> None:
        await exchange.start(200, [("content-type", CONTENT_TYPE), *head])
        for event in timeline.events(turn, _tool_use_id(), asked.input_tokens):
            stalled = isinstance(event, timeline.Break) and event.kind == "stall"
            if not await self._wait_until(None if stalled else began + event.at):
                await exchange.send(timeline.exception("InternalServerException", _STOPPED))
                break
            if isinstance(event, timeline.Break):
                exchange.reset()
                return
            await exchange.send(event.data)
        exchange.end()

    async def _wait_until(self, when: float | None) -> bool:
        """Wait until a time of the loop (None: for ever); False when the emulator stops before."""
        try:
            async with asyncio.timeout_at(when):
                await self._stopping.wait()
        except TimeoutError:
            return True
        return False


def _check_size(size: int) -> None:
    limit = facts.integer("bedrock.body-max")
    if size > limit:
        raise scripted_error("ValidationException", f"The body is over {limit} bytes.")


def _tool_use_id() -> str:
    return f"tooluse_{uuid.uuid4().hex[:22]}"
