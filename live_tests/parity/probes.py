"""Small experiments, each of which asks the service about a few facts. None of them judges the container."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contract_tests.bench import Bench
from contract_tests.client import Client, Ended, Failed, Part, Session, Silence
from contract_tests.conversation import Conversation
from live_tests.parity.ledger import Ledger

__all__ = ["PROBES", "Probe"]

_NOBODY = "no-such-endpoint-sagemaker-bidi"
_NO_PATH = "no/such/path"
_QUIET_S = 2.0
_WORK_S = 0.05
_DEFAULT_PATH = "invocations-bidirectional-stream"
_LARGE_PART = 512 * 1024


@dataclass(frozen=True, slots=True)
class Probe:
    """One experiment. ``facts`` are what it can say something about; it says nothing where the profile is mute."""

    name: str
    facts: tuple[str, ...]
    run: Callable[[Bench, Ledger], Awaitable[None]]
    repeatable: bool = True
    """Whether the same input has the same answers each time; else it is not compared."""


async def _refusal(
    bench: Bench,
    endpoint: str | None = None,
    path: str | None = None,
    query: str | None = None,
    variant: str | None = None,
) -> Failed | None:
    """Open a session that has to be refused; return how it was."""
    async with bench.reach.client() as client:
        session = await client.open(endpoint or bench.reach.endpoint, path, query, variant)
        try:
            outcome = await session.receive(_QUIET_S)
        finally:
            await session.close()
    return outcome if isinstance(outcome, Failed) else None


def _status(failure: Failed | None) -> int | None:
    """Return the HTTP status of a refusal; the SDK writes it into its text for errors outside the model."""
    if failure is None:
        return None
    known = {"InputValidationError": 400, "ModelError": 424, "InternalServerError": 500, "ServiceUnavailableError": 503}
    if failure.kind in known:
        return known[failure.kind]
    found = re.search(r"status: (\d{3})", failure.message)
    return int(found[1]) if found else None


def _shown(failure: Failed | None) -> str:
    return "it was not refused" if failure is None else str(failure)


async def _no_endpoint(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, endpoint=_NOBODY)
    holds = _status(failure) == 400 and failure is not None and "ValidationError" in f"{failure.kind} {failure.message}"
    ledger.judge("err.no-endpoint", _shown(failure), holds=holds)


async def _leading_slash(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, path=f"/{_DEFAULT_PATH}")
    ledger.judge("req.leading-slash", _shown(failure), holds=_status(failure) == 400)


async def _long_path(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, path="a" * 101)
    ledger.judge("req.path-max", f"101 characters: {_shown(failure)}", holds=_status(failure) == 400)


async def _odd_path(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, path="a//b")
    ledger.judge("req.path", f"'a//b': {_shown(failure)}", holds=_status(failure) == 400)


async def _bad_query(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, query="?a=1")
    ledger.judge("req.query", f"'?a=1': {_shown(failure)}", holds=_status(failure) == 400)


async def _long_query(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, query="a=" + "1" * 2047)
    ledger.judge("req.query-max", f"2049 characters: {_shown(failure)}", holds=_status(failure) == 400)


async def _bad_variant(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, variant="-a")
    ledger.judge("req.variant", f"'-a': {_shown(failure)}", holds=_status(failure) == 400)


async def _no_variant(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, variant="no-such-variant")
    told = "" if failure is None else f"{failure.kind} {failure.message}"
    holds = _status(failure) == 400 and "ValidationError" in told
    ledger.judge("err.no-variant", f"'no-such-variant': {_shown(failure)}", holds=holds)


async def _odd_endpoint(bench: Bench, ledger: Ledger) -> None:
    failure = await _refusal(bench, endpoint="a_b")
    ledger.judge("req.endpoint-name", f"'a_b': {_shown(failure)}", holds=_status(failure) == 400)


async def _no_path(bench: Bench, ledger: Ledger) -> None:
    # err.424-upgrade and unk.424-detail are entered by the watcher, as for every 424
    failure = await _refusal(bench, path=_NO_PATH)
    ledger.judge("ctr.path-override", f"{_NO_PATH!r}: {_shown(failure)}", holds=_status(failure) == 424)


async def _named_path(bench: Bench, ledger: Ledger) -> None:
    if bench.profile.path not in (None, _DEFAULT_PATH):
        return
    async with bench.reach.client() as client:
        session = await client.open(bench.reach.endpoint, _DEFAULT_PATH, bench.profile.query)
        answer = await _ask(bench, session)
    seen = f"the default path by name: {answer}"
    ledger.judge("ctr.path-default", seen, holds=answer == "complete")
    ledger.judge("req.slash-restored", f"{seen}, written without its slash", holds=answer == "complete")


async def _ask(bench: Bench, session: Session) -> str:
    """Ask one good request and close; return the outcome in a word or two."""
    try:
        kind = bench.baseline.data_type if bench.baseline else "UTF8"
        answer = await Conversation(session, bench.profile, bench.patience, kind).ask("named")
    finally:
        await session.close()
    return "complete" if answer.complete else answer.describe()


async def _data_types(bench: Bench, ledger: Ledger) -> None:
    """A byte that is no UTF-8: a WebSocket server refuses it in a TEXT frame (1007), and takes it in a BINARY one."""
    if bench.profile.error is None:
        return
    async with bench.client():
        async with bench.connect() as conversation:
            await conversation.send(b"\xff", None)
            binary = await conversation.hear(conversation.expect("binary"), _QUIET_S)
        async with bench.connect() as conversation:
            await conversation.send(b"\xff", "UTF8")
            text = await conversation.hear(conversation.expect("text"), _QUIET_S)
    seen = f"the byte ff without DataType: {binary.describe()}"
    if binary.outcome == "error":
        ledger.confirm("frame.default-binary", seen)
        ledger.confirm("frame.opaque", seen)
    elif isinstance(binary.outcome, Failed):
        ledger.judge("frame.default-binary", seen, holds=binary.outcome.code != "1007")
    seen = f"the byte ff with DataType UTF8: {text.describe()}"
    if isinstance(text.outcome, Failed) and text.outcome.code in {"1007", "1006"}:
        ledger.confirm("frame.utf8-text", seen)
        ledger.confirm("unk.bad-utf8", seen)
        if text.outcome.code == "1007":
            ledger.confirm("close.container-frame", seen)
            ledger.confirm("unk.close-strings", seen)
    elif isinstance(text.outcome, Failed):
        ledger.refute("unk.bad-utf8", seen)
        ledger.refute("unk.close-strings", seen)
    elif text.outcome == "error":
        ledger.refute("frame.utf8-text", seen + ": the container got it in a BINARY frame")


async def _close_message(bench: Bench, ledger: Ledger) -> None:
    rule = bench.profile.close
    if rule is None or rule.code != 1000:
        return
    async with bench.client(), bench.connect() as conversation:
        await conversation.send(rule.message.encode(), conversation.data_type)
        outcome = await conversation.finish(bench.patience)
    if not isinstance(outcome, Silence):
        seen = f"the container closed with 1000: {outcome}"
        ledger.judge("close.container-1000", seen, holds=isinstance(outcome, Ended))
        ledger.judge(
            "close.good-order",
            f"the close message, then reading to the end: {outcome}",
            holds=isinstance(outcome, Ended),
        )


async def _half_close(bench: Bench, ledger: Ledger) -> None:
    """A request, and the end of the input right behind it: whether its answer still comes.

    An answer that is made at once may overtake the end and says nothing.
    """
    text = bench.profile.request.long_text
    async with bench.client():
        async with bench.connect() as conversation:
            whole = await conversation.ask("whole", text)
        if not whole.complete or whole.seconds < _WORK_S:
            return
        async with bench.connect() as conversation:
            answer = await conversation.request("half", text)
            await conversation.session.end_input()
            await conversation.hear(answer, bench.patience_for(text))
    seen = f"the input ended right behind a request, whose answer takes {whole.seconds:.2f} s: {answer.describe()}"
    for fact_id in ("unk.client-end-grace", "close.client-early"):
        ledger.judge(fact_id, seen, holds=not answer.complete)


async def _empty_part(bench: Bench, ledger: Ledger) -> None:
    if bench.profile.error is None:
        return
    async with bench.client(), bench.connect() as conversation:
        await conversation.send(b"", "UTF8")
        answer = await conversation.hear(conversation.expect("empty"), _QUIET_S)
    seen = f"a part without bytes: {answer.describe()}"
    ledger.judge("unk.empty-part", seen, holds=answer.outcome == "error")


async def _forbidden_type(bench: Bench, ledger: Ledger) -> None:
    async with bench.client(), bench.connect() as conversation:
        await conversation.send(b"x", "TEXT")
        outcome = await conversation.finish(bench.patience)
    holds = isinstance(outcome, Failed) and outcome.kind == "ModelStreamError"
    ledger.judge("unk.bad-parts", f"a part with DataType TEXT: {outcome}", holds=holds)


async def _fragments(bench: Bench, ledger: Ledger) -> None:
    async with bench.client(), bench.connect() as conversation:
        payload = bench.profile.request.render("pieces").encode()
        third = len(payload) // 3
        pieces = (payload[:third], payload[third : 2 * third], payload[2 * third :])
        kind = conversation.data_type
        for piece, state in zip(pieces, ("PARTIAL", "PARTIAL", "COMPLETE"), strict=True):
            await conversation.session.send(piece, kind, state)
        answer = await conversation.hear(conversation.expect("pieces"))
    seen = f"a request in two PARTIAL parts and a COMPLETE one: {answer.describe()}"
    for fact_id in ("frag.run", "frag.reassembly"):
        ledger.judge(fact_id, seen, holds=answer.complete)


async def _type_change(bench: Bench, ledger: Ledger) -> None:
    """A run that begins as UTF8 and ends as BINARY: taken for two messages, it would be two halves of a request."""
    if bench.profile.request.is_audio:
        return
    async with bench.client(), bench.connect() as conversation:
        payload = bench.profile.request.render("changing").encode()
        half = len(payload) // 2
        await conversation.session.send(payload[:half], "UTF8", "PARTIAL")
        await conversation.session.send(payload[half:], "BINARY", "COMPLETE")
        answer = await conversation.hear(conversation.expect("changing"))
    seen = f"a run whose DataType changes from UTF8 to BINARY: {answer.describe()}"
    ledger.judge("frag.type-change", seen, holds=answer.complete)


async def _open_fragment(bench: Bench, ledger: Ledger) -> None:
    async with bench.client(), bench.connect() as conversation:
        await conversation.session.send(b"{", "UTF8", "PARTIAL")
        await conversation.session.end_input()
        outcome = await conversation.session.receive(bench.patience)
    seen = f"a PARTIAL part, and the end of the input: {outcome}"
    ledger.judge("unk.open-fragment", seen, holds=isinstance(outcome, Ended))


async def _large_part(bench: Bench, ledger: Ledger) -> None:
    """512 KB, the most that samples send: JSON with blanks behind it, so that the container has little to do."""
    if bench.profile.request.is_audio:
        return
    async with bench.client(), bench.connect() as conversation:
        payload = bench.profile.request.render("large").encode().ljust(_LARGE_PART)
        await conversation.session.send(payload, conversation.data_type)
        answer = await conversation.hear(conversation.expect("large"))
    # a container may have a limit of its own; that it answered is what counts
    holds = answer.complete or answer.outcome == "error"
    ledger.judge("limit.chunk", f"a part of {_LARGE_PART:,} bytes: {answer.describe()}", holds=holds)


async def _first_part_kept(bench: Bench, ledger: Ledger) -> None:
    """Two requests in a row on one session, without CompletionState: each has to count as a whole message."""
    async with bench.client(), bench.connect() as conversation:
        first = await conversation.ask("one")
        second = await conversation.ask("two")
    seen = f"two requests without CompletionState: {first.describe()}; {second.describe()}"
    ledger.judge("frame.default-complete", seen, holds=first.complete)
    ledger.judge("close.persistent", seen, holds=second.complete)


async def _two_at_once(bench: Bench, ledger: Ledger) -> None:
    async with bench.client(), bench.connect() as left, bench.connect() as right:
        one, two = await asyncio.gather(left.ask("left"), right.ask("right"))
    bodies = [control.body for answer in (one, two) for control in answer.controls]
    ids = [bench.profile.id_of(body) for body in bodies]
    strays = [found for found in ids if found not in ("left", "right", None)]
    holds = one.complete and two.complete and not strays
    ledger.judge("wire.one-to-one", f"two sessions at once: {one.describe()}; {two.describe()}", holds=holds)


async def _http(bench: Bench, ledger: Ledger) -> None:
    rule = bench.profile.invocations
    if rule is None:
        return
    kind = "application/json" if rule.good.format == "json" else "text/plain; charset=utf-8"
    good = await bench.post(rule.good.render("http"), kind)
    ledger.judge("inv.path", f"InvokeEndpoint: {good}", holds=good.status is not None)
    ledger.judge("inv.container-path", f"InvokeEndpoint with a good body: {good}", holds=good.status == 200)
    bad = await bench.post(rule.bad.render("http"), kind)
    holds = bad.status is not None and 400 <= bad.status < 500 and bool(bad.body)
    ledger.judge("inv.model-error", f"InvokeEndpoint with a bad body: {bad} in the ModelError", holds=holds)


async def wrong_secret(client: Client, endpoint: str, ledger: Ledger) -> None:
    """Enter what a request gets that is signed with a wrong secret; ``client`` is one that does that."""
    session = await client.open(endpoint)
    try:
        outcome = await session.receive(_QUIET_S)
    finally:
        await session.close()
    failure = outcome if isinstance(outcome, Failed) else None
    seen = "it was accepted" if isinstance(outcome, Part | Silence) else str(outcome)
    for fact_id in ("err.403", "sign.enforced"):
        ledger.judge(fact_id, f"a wrong secret: {seen}", holds=_status(failure) == 403)


PROBES: Sequence[Probe] = (
    Probe("unknown-endpoint", ("err.no-endpoint",), _no_endpoint),
    Probe("leading-slash", ("req.leading-slash",), _leading_slash),
    Probe("long-path", ("req.path-max",), _long_path),
    Probe("odd-path", ("req.path",), _odd_path),
    Probe("bad-query", ("req.query",), _bad_query),
    Probe("long-query", ("req.query-max",), _long_query),
    Probe("bad-variant", ("req.variant",), _bad_variant),
    Probe("unknown-variant", ("err.no-variant",), _no_variant),
    Probe("odd-endpoint", ("req.endpoint-name",), _odd_endpoint),
    Probe("refused-upgrade", ("ctr.path-override", "err.424-upgrade", "unk.424-detail"), _no_path),
    Probe("named-path", ("ctr.path-default", "req.slash-restored"), _named_path),
    Probe("data-types", ("frame.default-binary", "frame.utf8-text", "unk.bad-utf8", "unk.close-strings"), _data_types),
    Probe("close-message", ("close.container-1000", "close.good-order"), _close_message),
    Probe(
        "half-close",
        ("unk.client-end-grace", "close.client-early", "close.client-input"),
        _half_close,
        repeatable=False,
    ),
    Probe("empty-part", ("unk.empty-part",), _empty_part),
    Probe("forbidden-type", ("unk.bad-parts",), _forbidden_type),
    Probe("fragments", ("frag.run", "frag.reassembly"), _fragments),
    Probe("type-change", ("frag.type-change",), _type_change),
    Probe("open-fragment", ("unk.open-fragment",), _open_fragment, repeatable=False),
    Probe("large-part", ("limit.chunk",), _large_part),
    Probe("two-requests", ("frame.default-complete", "close.persistent"), _first_part_kept),
    Probe("two-sessions", ("wire.one-to-one",), _two_at_once),
    Probe("http", ("inv.path", "inv.container-path", "inv.model-error"), _http),
)
