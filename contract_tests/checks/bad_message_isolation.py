"""CT2: one bad message costs one error answer, not the session."""

from dataclasses import replace

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.snippets import aiohttp, node, websockets
from contract_tests.verdict import Finding, Fix, failed, passed, warned

__all__ = ["BadMessageIsolation"]

_QUIET_S = 1.0
_INVALID_UTF8 = b"\xff"
_UNDECODABLE = b'{"text": "\xff'
_UNDECODABLE_TOLD = "a BINARY frame with the beginning of a JSON object and the byte ff, which is not UTF-8"
_INVALID_CODE = 1007
_GUARD = Fix(
    "Parse and dispatch inside the loop's `try`, answer with one error message, and go on with the next message.",
    before="""\
while True:
    request = json.loads(await read(websocket))
    await serve(request)""",
    after="""\
while True:
    payload = await read(websocket)
    try:
        request = parse(payload)            # JSON, an object, known type, valid fields
    except ValueError as problem:
        await websocket.send_text(json.dumps({"type": "error", "message": str(problem)}))
        continue
    await serve(request)""",
    elsewhere=(aiohttp.GUARD, websockets.GUARD, node.GUARD),
)
_PROCESS = (
    "Nobody catches the exception, and the whole process ends, with all its sessions: others are lost as well. Node "
    "does so with what a 'message' listener throws, or a promise that nobody awaits, and something starts it again."
)


class BadMessageIsolation(Check):
    """Bad messages are answered with an error each; the next good request works on the same session."""

    id = "CT2"
    name = "bad-message-isolation"
    stake = "One malformed or unknown message, from one client version, ends a live conversation."
    facts = ("close.persistent", "frame.opaque")

    async def run(self, bench: Bench) -> Outcome:
        """Send each bad message and then a good request; bytes that are no text, and a TEXT frame with such."""
        async with bench.connect() as conversation:
            for number, text in enumerate(bench.profile.bad_messages):
                await conversation.send(text.encode(), conversation.data_type)
                patience = None if bench.profile.error else _QUIET_S
                reply = await conversation.hear(conversation.expect(f"bad-{number}"), patience)
                finding = _bad_reply(bench, text, reply)
                if finding is not None:
                    closing, log = await bench.closing(conversation), bench.log(conversation)
                    return await _blamed(bench, finding, text, reply), closing, log
            good = await conversation.ask_again("g")
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        if not good.complete:
            return _session_lost(f"{len(bench.profile.bad_messages)} bad messages", good), closing, log
        return await self._undecodable(bench) or await self._invalid_utf8(bench)

    async def _undecodable(self, bench: Bench) -> Outcome | None:
        """Return what is wrong with the answer to bytes that are no text; without one, there is nothing to judge."""
        if bench.profile.request.is_audio:
            return None
        async with bench.connect() as conversation:
            await conversation.send(_UNDECODABLE, None, "bytes that are not UTF-8")
            await conversation.hear(conversation.expect("bytes"), _QUIET_S)
            good = await conversation.ask_again("after-bytes")
            closing = await bench.closing(conversation)
        if good.complete:
            return None
        async with bench.connect() as other:
            other.data_type = None
            if not (await other.ask("binary")).complete:
                return None  # no BINARY frame is understood: CT1 says so
        return _undecoded(good), closing, bench.log(conversation)

    async def _invalid_utf8(self, bench: Bench) -> Outcome:
        async with bench.connect() as conversation:
            await conversation.send(_INVALID_UTF8, "UTF8", "the byte ff, which is not UTF-8")
            await conversation.finish(bench.patience)
            closing = _invalid_closing(conversation.session.over)
        log = bench.log(conversation)
        ping = await bench.ping()
        async with bench.connect() as fresh:
            again = await fresh.ask("fresh")
        if ping.bad or not again.complete:
            observed = f"/ping: {ping}; a fresh session: {again.describe()}"
            return (
                failed(
                    sent="a TEXT frame with the single byte ff, which is not UTF-8",
                    expected="only that session suffers: /ping is 200 and a fresh session works",
                    observed=observed,
                    causes=("A fault of one session takes the server process, or a lock that all share, with it.",),
                    fix=_GUARD,
                ),
                closing,
                bench.log(fresh),
            )
        count = len(bench.profile.bad_messages)
        answered = "answered with one error each" if bench.profile.error else "survived"
        return passed(f"{count} bad messages {answered}, the next good request worked"), closing, log


async def _blamed(bench: Bench, finding: Finding, text: str, reply: Answer) -> Finding:
    """Name the process first where another session, which had nothing to do with it, is lost as well, or /ping is."""
    if not _dropped(reply):
        return finding
    if (await bench.ping()).silent:
        return replace(finding, causes=(_PROCESS, *finding.causes))
    async with bench.connect() as witness, bench.connect() as other:
        await witness.ask("witness")
        await other.send(text.encode(), other.data_type)
        await other.finish(bench.patience)
        lost = _dropped(await witness.ask("witness-again"))
    return replace(finding, causes=(_PROCESS, *finding.causes)) if lost else finding


def _dropped(answer: Answer) -> bool:
    return isinstance(answer.outcome, Failed) and answer.outcome.without_close_frame


def _bad_reply(bench: Bench, text: str, reply: Answer) -> Finding | None:
    if isinstance(reply.outcome, Ended | Failed):
        return _session_lost(f"the bad message {text!r} in a TEXT frame", reply)
    if bench.profile.error is not None and reply.outcome != "error":
        return failed(
            sent=f"the bad message {text!r} in a TEXT frame",
            expected=f"one error message, {bench.profile.error}",
            observed="no answer" if not reply.parts else reply.describe(),
            causes=(
                "What is not understood is dropped without a word: the caller waits for an answer that never comes.",
            )
            if not reply.parts
            else ("The message is taken for a valid request.",),
            fix=_GUARD,
        )
    return None


def _undecoded(answer: Answer) -> Finding:
    finding = _session_lost(_UNDECODABLE_TOLD, answer)
    cause = (
        "The bytes of a BINARY frame are decoded outside the `try`, or only JSONDecodeError is caught: `bytes.decode()`"
        " and `json.loads()` raise UnicodeDecodeError. Both are a ValueError."
    )
    return replace(finding, causes=(cause, *finding.causes[1:])) if isinstance(answer.outcome, Failed) else finding


def _session_lost(what: str, answer: Answer) -> Finding:
    outcome = answer.outcome
    if isinstance(outcome, Failed) and outcome.without_close_frame:
        causes = ("Parsing or dispatch stands outside the loop's `try`: the exception leaves the handler.",)
    elif isinstance(outcome, Failed) and outcome.code == "1011":
        causes = (
            "An exception leaves the handler, and the server closes with 1011: parsing stands outside the `try`.",
        )
    elif isinstance(outcome, Ended | Failed):
        causes = ("The handler closes the session on purpose when it does not understand a message.",)
    else:
        causes = ("The bad message leaves something behind (a lock, a state) that keeps later requests waiting.",)
    return failed(
        sent=f"{what}, then a good request",
        expected="an error message at most; the session stays open and the good request is answered",
        observed=answer.describe(),
        causes=causes,
        fix=_GUARD,
    )


def _invalid_closing(outcome: Ended | Failed | None) -> Finding:
    """Judge how the session ends: RFC 6455 wants 1007, and that is the server's job, not the handler's."""
    if isinstance(outcome, Failed) and outcome.code == str(_INVALID_CODE):
        return passed(f"invalid UTF-8 in a TEXT frame is closed with {_INVALID_CODE}")
    return warned(
        sent="a TEXT frame with the single byte ff, which is not UTF-8",
        expected=f"Close {_INVALID_CODE} (RFC 6455, 8.1)",
        observed=str(outcome) if outcome is not None else "the session stays open",
        causes=("The WebSocket library of the server drops such a connection instead of closing it (wsproto does).",),
        fix=Fix("Prefer a server whose WebSocket library closes with 1007 (uvicorn with `--ws websockets`)."),
    )
