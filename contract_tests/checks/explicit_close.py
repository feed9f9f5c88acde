"""CT11: a session ends with a Close frame, in bounded time, and never in the middle of an answer."""

from dataclasses import replace

from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed, Silence
from contract_tests.profile import CloseRule
from contract_tests.snippets import aiohttp, node, websockets
from contract_tests.verdict import Finding, Fix, Status, failed, passed

__all__ = ["ExplicitClose"]

_CLOSE_WITHIN_S = 2.0
_NO_CODE = 1005
_OWN_CODES = range(1000, 5000)
_CODES = {
    _NO_CODE: "The handler closes without a code: `close()` of Node's `ws` and of browsers sends none by itself.",
    1011: "The handler returns without closing; hypercorn then closes with 1011.",
}
_CLOSE = Fix(
    "Close the WebSocket yourself before the handler returns. What a server does with a handler that "
    "just returns differs: "
    "uvicorn 0.54 drops the connection, older ones leave it open, hypercorn closes with 1011.",
    before='if request.get("type") == "close":\n    return',
    after='if request.get("type") == "close":\n    await websocket.close(1000)\n    return',
    elsewhere=(aiohttp.CLOSE, websockets.CLOSE, node.CLOSE),
)


class ExplicitClose(Check):
    """The close message is answered with the agreed code; a client that leaves gets its Close frame answered."""

    id = "CT11"
    name = "explicit-close"
    stake = (
        "Code and reason of the Close frame are all that a caller learns about an end. Without one nobody can tell a "
        "finished session from a crash, and a socket that stays open holds its slot for 30 minutes."
    )
    facts = ("close.container-frame", "close.container-1000", "close.container-crash", "close.client-input")

    async def run(self, bench: Bench) -> Outcome:
        """Let the client leave in the middle of an answer; then, where the profile has one, use the close message."""
        behaviour, closing, log = await self._client_leaves(bench)
        rule = bench.profile.close
        if rule is None or Status.FAIL in {behaviour.status, closing.status}:
            return behaviour, closing, log
        behaviour, closing, log = await self._close_message(bench, rule)
        if Status.FAIL in {behaviour.status, closing.status}:
            return behaviour, closing, log
        return await self._close_behind_request(bench, rule, closing)

    async def _client_leaves(self, bench: Bench) -> Outcome:
        async with bench.connect() as conversation:
            answer = await conversation.request("leaves", bench.profile.request.long_text)
            # up to the first audio where there is audio: a container that is still thinking closes more easily
            await conversation.hear(answer, parts=2 if bench.profile.start else 1)
            closing = _must(await bench.closing(conversation))
        return passed("the client ended its input in the middle of an answer"), closing, bench.log(conversation)

    async def _close_message(self, bench: Bench, rule: CloseRule) -> Outcome:
        async with bench.connect() as conversation:
            await conversation.ask("last")
            await conversation.send(rule.message.encode(), conversation.data_type)
            outcome = await conversation.finish(_CLOSE_WITHIN_S)
            trace = bench.trace(conversation)
            close = trace.container_close if trace is not None else None
            code = close[0] if close is not None else _told(outcome)
        sent = f"a good request, and after its answer the close message {rule.message}"
        expected = f"Close {rule.code} within {_CLOSE_WITHIN_S:g} s"
        closing = _close_finding(sent, expected, rule, outcome, code)
        return passed("the close message was taken"), closing, bench.log(conversation)

    async def _close_behind_request(self, bench: Bench, rule: CloseRule, closing: Finding) -> Outcome:
        async with bench.connect() as conversation:
            answer = await conversation.request("closing")
            await conversation.send(rule.message.encode(), conversation.data_type)
            await conversation.hear(answer, bench.patience)
            outcome = await conversation.finish(bench.bounded)
        log = bench.log(conversation)
        sent = f"a good request, and right behind it the close message {rule.message}"
        if isinstance(outcome, Silence):
            finding = failed(
                sent=sent,
                expected="the answer, or an error that says that it was given up; then the close, "
                f"within {bench.bounded:.0f} s",
                observed=f"{answer.describe()}; then {outcome}, and the session is still open",
                causes=("The close message is lost while the container is busy.",),
                fix=_CLOSE,
            )
        elif not answer.complete and answer.outcome != "error":
            finding = failed(
                sent=sent,
                expected="the whole answer before the close, or an error message that says that it was given up",
                observed=f"the session was closed in the middle of the answer: {answer.describe()}",
                causes=("Reading and speaking run side by side, and the reader closes while the speaker still sends.",),
                fix=Fix("Let the close wait for the answer that is under way, or send an error message for it first."),
            )
        else:
            finding = passed("closed when asked to, after the answer, and when the client left")
        return finding, closing, log


def _must(closing: Finding) -> Finding:
    """Elsewhere a bad end is a warning; here it is the point."""
    if closing.status is not Status.WARN:
        return closing
    return replace(
        closing, status=Status.FAIL, causes=("The handler ends in an exception when the caller leaves.",), fix=_CLOSE
    )


def _told(outcome: Ended | Failed | Silence) -> int | None:
    """Return the code of the container's Close frame as the caller learns it, None where there was no such frame."""
    if isinstance(outcome, Ended):
        return 1000
    told = outcome.code if isinstance(outcome, Failed) and not outcome.without_close_frame else None
    return int(told) if told is not None and told.isdecimal() and int(told) in _OWN_CODES else None


def _close_finding(
    sent: str, expected: str, rule: CloseRule, outcome: Ended | Failed | Silence, code: int | None
) -> Finding:
    if code == rule.code:
        return passed(f"Close {rule.code} to the close message")
    if code is not None:
        seen = f"Close {code}" if code != _NO_CODE else "a Close frame without a code"
        return failed(
            sent=sent,
            expected=expected,
            observed=f"{seen}; the caller gets {outcome}",
            causes=(_CODES.get(code, "The handler closes with another code."),),
            fix=_CLOSE,
        )
    if isinstance(outcome, Silence):
        return failed(
            sent=sent,
            expected=expected,
            observed=f"{outcome}: the session is still open",
            causes=("The close message is read and ignored, or nobody reads any more.",),
            fix=_CLOSE,
        )
    return failed(
        sent=sent,
        expected=expected,
        observed=f"the container's connection ended without a Close frame; the caller gets {outcome}",
        causes=(
            "The handler returns without closing and leaves the rest to its server (uvicorn drops the connection).",
        ),
        fix=_CLOSE,
    )
