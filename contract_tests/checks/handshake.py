"""CT19: the WebSocket handshake is accepted from a proxy, whatever it adds or leaves out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.checks import good_request
from contract_tests.client import Failed
from contract_tests.direct import DirectSession, dialled
from contract_tests.reach import Capability
from contract_tests.snippets import node
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed

__all__ = ["HandshakeVariants"]

_QUERY = "x=1"
_UNTRIED = "others were not tried, which needs " + Capability.DIAL
_ORIGIN = "https://runtime.sagemaker.us-west-2.amazonaws.com"
_HEADERS = {
    "X-Amzn-SageMaker-Request-Id": "00000000-0000-4000-8000-000000000000",
    "X-Amzn-Trace-Id": "Root=1-00000000-000000000000000000000000",
    "X-Forwarded-For": "192.0.2.1",
    "X-Nobody-Knows-This": "1",
}
_ORIGIN_FIX = Fix(
    "Do not look at Origin on this path: it protects from foreign web pages, and no browser comes here.",
    before='if headers.get("origin") not in ALLOWED:\n    return await deny(403)',
    after='if path != "/invocations-bidirectional-stream" and headers.get("origin") not in ALLOWED:\n'
    "    return await deny(403)",
)
_PATH_ALONE = Fix(
    "Compare the path alone, and ignore parameters that you do not know.",
    before='if request.url == "/invocations-bidirectional-stream":     # aiohttp: path_qs',
    after='if request.path == "/invocations-bidirectional-stream":',
    elsewhere=(node.PATH,),
)


@dataclass(frozen=True, slots=True)
class _Variant:
    """One handshake that the container itself is dialled with, and what it means when it is refused.

    ``binding``: whether it has to be accepted; nobody knows whether SageMaker ever sends an Origin.
    """

    what: str
    cause: str
    fix: Fix
    origin: str | None = None
    headers: Mapping[str, str] | None = None
    deflate: bool = False
    binding: bool = True


_VARIANTS = (
    _Variant(
        "no Origin, no User-Agent, no extension",
        "A header is demanded that browsers send and proxies do not (Origin, User-Agent).",
        _ORIGIN_FIX,
    ),
    _Variant(
        f"headers that it does not know ({', '.join(_HEADERS)})",
        "Middleware takes an unknown or a forwarded header for an attack, or fails to parse it.",
        Fix("Ignore what you do not know; leave the checks of forwarded headers to routes that browsers use."),
        headers=_HEADERS,
    ),
    _Variant(
        "the extension permessage-deflate on offer",
        "The offer of an extension is treated as an error, or agreed on and not mastered.",
        Fix(
            "An offer may be passed over in silence: switch compression off in the server. PCM gains little by it, and "
            "it costs memory and processor time.",
            before="uvicorn app:app",
            after="uvicorn app:app --ws-per-message-deflate false    # aiohttp: WebSocketResponse(compress=False)",
        ),
        deflate=True,
    ),
    _Variant(
        f"Origin: {_ORIGIN}",
        "Only listed Origins are let in (CORS rules, a host check of the framework).",
        _ORIGIN_FIX,
        origin=_ORIGIN,
        binding=False,
    ),
)


class HandshakeVariants(Check):
    """Handshakes with and without Origin, unknown headers, compression and a query string; a good request on each."""

    id = "CT19"
    name = "handshake-variants"
    stake = (
        "SageMaker's proxy is no browser: no Origin, headers of its own, perhaps a query string. A refused upgrade is "
        "an HTTP 424 to the caller, without a word of the container's reason."
    )
    facts = ("err.424-upgrade", "unk.upgrade-headers", "req.query", "ctr.path-default")
    needs_good_request = False

    async def run(self, bench: Bench) -> Outcome:
        """Try each handshake on the container itself, then a query string through SageMaker's side."""
        if not bench.measured:
            await good_request.measure(bench)
        if bench.baseline is None:
            return await self._why_refused(bench)
        compressed = False
        doubt: Finding | None = None
        doubt_log: tuple[str, ...] = ()
        variants = _VARIANTS if bench.can(Capability.DIAL) else ()
        for variant in variants:
            async with dialled(bench, origin=variant.origin, headers=variant.headers, deflate=variant.deflate) as (
                conversation,
                session,
            ):
                answer = await conversation.ask("handshake")
                compressed = compressed or session.compressed
            log = bench.log(conversation)
            if not answer.complete:
                finding = _refused(variant.what, session, answer, variant.cause, variant.fix)
                if variant.binding:
                    return finding, not_applicable("the handshake is the point here"), log
                doubt, doubt_log = replace(finding, status=Status.WARN), log
        async with bench.connect(_QUERY) as conversation:
            answer = await conversation.ask("query")
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        if not answer.complete:
            return _query_refused(answer), closing, log
        if doubt is not None:
            return doubt, closing, doubt_log
        if not variants:
            return passed(f"SageMaker's own handshake is accepted, with a query too; {_UNTRIED}"), closing, log
        deflate = "agreed on (PCM gains little by it)" if compressed else "left out"
        return passed(f"{len(variants) + 1} handshakes accepted; permessage-deflate was {deflate}"), closing, log

    async def _why_refused(self, bench: Bench) -> Outcome:
        """Nothing is answered: perhaps because of the handshake. Try what a container might insist on."""
        unjudged = not_applicable("no good request is answered, and not because of the handshake: see CT0")
        if not bench.can(Capability.DIAL):
            return unjudged, unjudged, ()
        async with dialled(bench) as (conversation, plain):
            log = bench.log(conversation)
        if not plain.refused:
            return unjudged, unjudged, log
        what = "SageMaker's handshake: no Origin, no subprotocol, no extension"
        silent = not_applicable("the handshake is the point here")
        async with dialled(bench, origin=bench.url) as (conversation, session):
            await conversation.ask("handshake")
        if not session.refused:
            cause = f"An Origin header is demanded: with 'Origin: {bench.url}' the same handshake is accepted."
            return _refused(what, plain, None, cause, _ORIGIN_FIX), silent, (*log, *bench.log(conversation))
        async with dialled(bench, suffix="/") as (conversation, session):
            await conversation.ask("handshake")
        if not session.refused:
            cause = "The route exists with a trailing slash only."
            fix = Fix(
                "Serve the path without a slash at its end.",
                before='WebSocketRoute("/invocations-bidirectional-stream/", handler)',
                after='WebSocketRoute("/invocations-bidirectional-stream", handler)',
            )
            return _refused(what, plain, None, cause, fix), silent, (*log, *bench.log(conversation))
        return unjudged, unjudged, log


def _refused(what: str, session: DirectSession, answer: Answer | None, cause: str, fix: Fix) -> Finding:
    if isinstance(session.over, Failed) and session.refused:
        observed = f"the upgrade is refused: {session.over.message}"
    else:
        observed = f"HTTP 101, but then {answer.describe() if answer else session.over}"
    return failed(
        sent=f"a WebSocket upgrade with {what}, and a good request",
        expected="HTTP 101 and a complete answer",
        observed=observed,
        causes=(
            cause,
            "Middleware in front of the route knows only HTTP requests (scope type http) and turns a WebSocket away.",
        ),
        fix=fix,
    )


def _query_refused(answer: Answer) -> Finding:
    return failed(
        sent=f"a session with ModelQueryString {_QUERY}, which SageMaker appends to the path (?{_QUERY}), and a good "
        "request",
        expected="the upgrade is accepted, unknown parameters are ignored, and the answer is complete",
        observed=answer.describe(),
        causes=(
            "The route is compared with path and query together, so that any query string makes it another path.",
            "Query parameters are validated strictly, and an unknown one is refused.",
        ),
        fix=_PATH_ALONE,
    )
