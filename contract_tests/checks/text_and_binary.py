"""CT1: a request is understood in a BINARY frame as well as in a TEXT frame, and replies use the right type."""

import re
from dataclasses import replace

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed, Silence
from contract_tests.likeness import any_reply, looks_like_error, shown, unlike
from contract_tests.mark import JsonMark
from contract_tests.profile import Profile
from contract_tests.snippets import aiohttp, node, websockets
from contract_tests.stack import Stack
from contract_tests.verdict import Finding, Fix, failed, passed, warned

__all__ = ["TextAndBinary"]

_READ_BOTH = Fix(
    "Take the raw message and accept both kinds. Ask whether the text `is None`, not whether it is "
    "true: an empty string "
    "is a valid text, uvicorn leaves the other key out and hypercorn sets it to None.",
    before="text = await websocket.receive_text()",
    after="""\
message = await websocket.receive()
if message["type"] == "websocket.disconnect":
    break
text = message.get("text")
if text is None:
    text = message["bytes"].decode("utf-8")""",
    elsewhere=(aiohttp.READ_BOTH, websockets.READ_BOTH, node.READ_BOTH),
)
_AS_TEXT = Fix(
    "Send control messages as text, so that a client can tell them from audio by DataType alone.",
    before="await websocket.send_bytes(json.dumps(event).encode())",
    after="await websocket.send_text(json.dumps(event))",
    elsewhere=(aiohttp.CONTROL_AS_TEXT, websockets.CONTROL_AS_TEXT, node.CONTROL_AS_TEXT),
)
_BUFFER = "A Buffer is given to `ws.send()`, which makes a BINARY frame of it; only a string makes a TEXT frame (Node)."
_SEND_BYTES = "The message is sent with `send_bytes(json.dumps(...).encode())`."
_RECEIVE_TEXT_RAISES = (
    'The handler reads with `receive_text()` or `receive_json()`. Starlette then looks up message["text"] although a '
    "BINARY frame came; under "
    "uvicorn that key is missing, KeyError('text') leaves the handler, and uvicorn drops the "
    "connection without a Close "
    "frame and without a word to the caller."
)
_RECEIVE_TEXT_NONE = (
    'The handler reads with `receive_text()`. Under hypercorn a BINARY frame has the key "text" too, '
    "with the value None: "
    "`receive_text()` returns None, nothing is raised, and a loop that skips what is empty waits for ever."
)
_TEXT_BRANCH = (
    'A branch handles only the text type (`if "text" in message`, `WSMsgType.TEXT`, no `isBinary`), and nothing '
    "takes care of the rest."
)
_ODD_FRAMES: tuple[tuple[str, bytes, str | None], ...] = (
    ("a TEXT frame of zero bytes", b"", "UTF8"),
    ("a BINARY frame with the two bytes 00 01", b"\x00\x01", None),
)
_FRAME_TYPE_WORDS = re.compile(r"binary|bytes? frame|text frame|frame type|data.?type", re.IGNORECASE)
_NONE_WORDS = re.compile(r"NoneType|\bNone\b|'text'|\"text\"")


class TextAndBinary(Check):
    """JSON in a BINARY frame is answered like JSON in a TEXT frame; control comes as TEXT, audio as BINARY."""

    id = "CT1"
    name = "text-and-binary"
    stake = (
        "A client that sets no DataType (AWS's own launch example sets none) reaches the container in BINARY frames. A "
        "container that reads only text fails on the very first request, though it works in every local WebSocket test."
    )
    facts = ("frame.default-binary", "frame.json-as-binary", "frame.out-text")

    def applies(self, profile: Profile) -> str | None:
        """Only requests that are text."""
        return f"the requests of profile {profile.name!r} are audio" if profile.request.is_audio else None

    async def run(self, bench: Bench) -> Outcome:
        """Send the good request as BINARY first; then odd frames; then look at the types of the replies."""
        async with bench.connect() as conversation:
            only_binary = conversation.data_type is None
            conversation.data_type = "UTF8" if only_binary else None
            answer = await conversation.ask("b")
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        if only_binary:
            return _text_unread(answer), closing, log
        finding = _binary_finding(bench, answer)
        if finding is not None:
            return await _ranked(bench, finding, answer), closing, log
        for what, data, data_type in _ODD_FRAMES:
            odd, log_of_odd = await self._after(bench, data, data_type)
            if not odd.complete and not await self._dies_anyway(bench):
                return _odd_frame_kills(what, odd), closing, log_of_odd
        if any_reply(bench.profile):
            async with bench.connect() as conversation:
                as_text = await conversation.ask("t")
            if as_text.complete and unlike(as_text, answer):
                return _other_kind(as_text, answer), closing, log
        wrong = _control_as_binary(bench, answer, await bench.stack())
        if wrong is not None:
            return wrong, closing, log
        if answer.outcome == "error":
            return _refused_in_words(answer), closing, log
        return passed(f"the request as a BINARY frame got {answer.describe()}"), closing, log

    async def _after(self, bench: Bench, data: bytes, data_type: str | None) -> tuple[Answer, tuple[str, ...]]:
        async with bench.connect() as conversation:
            await conversation.send(data, data_type)
            await conversation.hear(conversation.expect("odd"), patience=1.0)
            answer = await conversation.ask_again("c")
        return answer, bench.log(conversation)

    async def _dies_anyway(self, bench: Bench) -> bool:
        """Tell whether any second or any malformed message ends the session: then CT7 or CT2 says so."""
        async with bench.connect() as conversation:
            await conversation.ask("first")
            second = await conversation.ask("second")
        malformed, _ = await self._after(bench, b"not json", "UTF8")
        return not (second.complete and malformed.complete)


async def _ranked(bench: Bench, finding: Finding, answer: Answer) -> Finding:
    """Put the cause first that fits a silent container's server: only hypercorn makes `receive_text()` silent."""
    if not isinstance(answer.outcome, Silence) or await bench.stack() in {Stack.HYPERCORN, None}:
        return finding
    return replace(finding, causes=(_TEXT_BRANCH, *(cause for cause in finding.causes if cause != _TEXT_BRANCH)))


def _binary_finding(bench: Bench, answer: Answer) -> Finding | None:
    """Return what is wrong with the answer to the BINARY frame, None if it is good or refuses in clear words."""
    if answer.complete:
        return None
    text = bench.profile.request.render("b")
    seconds = bench.baseline.seconds if bench.baseline else 0.0
    sent = (
        f"one BINARY frame carrying UTF-8 JSON ({len(text.encode())} bytes), because the client set "
        f"no DataType:\n{text}\n"
        f"(the same request as a TEXT frame was answered, complete, in {seconds:.2f} s)"
    )
    expected = "the same answer as for the TEXT frame"
    outcome = answer.outcome
    causes: tuple[str, ...] = (_RECEIVE_TEXT_NONE, _TEXT_BRANCH)
    if outcome == "error":
        message = str(answer.error)
        if _FRAME_TYPE_WORDS.search(message) and not _NONE_WORDS.search(message):
            return None
        observed = f"an error message that does not tell the caller what to change: {message}"
        causes = (
            (
                "The handler trips over the None that `receive_text()` returns for a BINARY frame under hypercorn, "
                "or over the empty text of Litestar."
            ),
            _TEXT_BRANCH,
        )
    elif isinstance(outcome, Failed) and outcome.without_close_frame:
        observed = (
            f"no reply; {outcome.at - answer.sent_at:.2f} s later the container's socket was gone "
            "without a Close frame. The "
            f"caller gets {outcome}"
        )
        causes = (_RECEIVE_TEXT_RAISES, "The handler raises something else on a message without text.")
    elif isinstance(outcome, Failed):
        observed = f"no reply; the container closed the WebSocket. The caller gets {outcome}"
        causes = (
            "The handler reads with `receive_text()`, gets None (hypercorn) and fails on it; "
            "hypercorn then closes with 1011."
            if outcome.code == "1011"
            else "The handler turns BINARY frames away on purpose; for SageMaker they are the normal case.",
            _TEXT_BRANCH,
        )
    elif isinstance(outcome, Ended):
        observed = "no reply; the container ended the session in order, as after a success"
    else:
        observed = f"no reply, {outcome}; the connection stays open and the caller waits"
    return failed(sent=sent, expected=expected, observed=observed, causes=causes, fix=_READ_BOTH)


def _other_kind(as_text: Answer, as_binary: Answer) -> Finding:
    error = looks_like_error(as_binary) and not looks_like_error(as_text)
    return (failed if error else warned)(
        sent="the same JSON as one TEXT frame, then as one BINARY frame, because a client sets no DataType",
        expected="replies of the same kind",
        observed=f"the TEXT frame got {shown(as_text)}; the BINARY frame got {shown(as_binary)}",
        causes=(
            "The handler reads with `receive_text()`: None for a BINARY frame under hypercorn, answered with an error.",
            _TEXT_BRANCH,
        ),
        fix=_READ_BOTH,
    )


def _refused_in_words(answer: Answer) -> Finding:
    return warned(
        sent="one BINARY frame carrying UTF-8 JSON, because the client set no DataType",
        expected="the same answer as for the TEXT frame",
        observed=f"the container refuses BINARY frames, and says so: {answer.error}",
        causes=("The container takes text only, by choice. Callers must set DataType UTF8 on every part.",),
        fix=_READ_BOTH,
    )


def _text_unread(answer: Answer) -> Finding:
    return failed(
        sent="the good request as one TEXT frame (DataType UTF8); as a BINARY frame it was answered before",
        expected="the same answer as for the BINARY frame",
        observed=answer.describe(),
        causes=("The handler reads with `receive_bytes()`, or a branch handles only the binary type.",),
        fix=_READ_BOTH,
    )


def _odd_frame_kills(what: str, answer: Answer) -> Finding:
    return failed(
        sent=f"{what}, then a good request as a TEXT frame",
        expected="at most one error for the odd frame, then the answer to the good request",
        observed=f"the good request got {answer.describe()}",
        causes=(
            'The handler asks whether the text is true (`if message.get("text")`) instead of whether '
            "it is None: an empty "
            "text falls into the branch for bytes, where there are none."
            if what.startswith("a TEXT")
            else "The bytes are decoded as UTF-8 or parsed as JSON outside the handler's `try`.",
        ),
        fix=_READ_BOTH,
    )


def _control_as_binary(bench: Bench, answer: Answer, stack: Stack | None) -> Finding | None:
    if not isinstance(bench.profile.end, JsonMark):
        return None
    binary = [control for control in answer.controls if control.how == "whole" and control.data_type != "UTF8"]
    if binary:
        return failed(
            sent="a good request",
            expected="control messages in TEXT frames (parts with DataType UTF8), audio in BINARY frames",
            observed=f"{len(binary)} of {len(answer.controls)} control messages came in BINARY "
            f"frames, the first one: {binary[0]}",
            causes=(_BUFFER, _SEND_BYTES) if stack is Stack.NODE else (_SEND_BYTES, _BUFFER),
            fix=_AS_TEXT,
        )
    texts = [control for control in answer.controls if isinstance(control.body, str)]
    if texts and bench.profile.audio is not None:
        return failed(
            sent="a good request",
            expected="TEXT frames hold JSON objects, audio comes in BINARY frames",
            observed=f"{len(texts)} TEXT frames are no JSON object, the first one: {texts[0]}",
            causes=("Audio goes out as text, for example in base64.",),
            fix=Fix("Send raw PCM with `send_bytes()`."),
        )
    return None
