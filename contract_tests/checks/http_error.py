"""CT17: what is wrong with an HTTP request is told by its status, not by an empty success."""

import httpx

from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.plain import plain_http
from contract_tests.profile import InvocationRule, Profile, RequestTemplate
from contract_tests.reach import Capability, HttpReply
from contract_tests.snippets import aiohttp, node
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned

__all__ = ["HttpErrorBefore200"]

_PATH = "/invocations"
_ABSENT = {404, 405, 501}
_HEADER_BYTES = 512
"""A body of at most that size holds no speech: the header of a file, or a message."""
_PULL = Fix(
    "Check the request and pull the first chunk of audio before the response begins; only then answer 200.",
    before='return StreamingResponse(speak(request), media_type="audio/pcm")   # 200 is out before speak() has run',
    after="""\
try:
    frames = speak(request)
    first = next(frames)                     # what can fail early fails here
except BadRequest as problem:
    return JSONResponse({"error": str(problem)}, status_code=400)
return StreamingResponse(chain([first], frames), media_type="audio/pcm")""",
    elsewhere=(aiohttp.FIRST_CHUNK, node.FIRST_THE_MODEL),
)
_BREAK = Fix(
    "Once 200 is out, break the connection off: raise, and let the server drop it without the last chunk. Callers and "
    "SageMaker see that, an ordinary end they do not.",
    before="except ModelError:\n    log.exception(...)      # and the response ends as if all was said",
    after="except ModelError:\n    log.exception(...)\n    raise                   # the chunked body stays unfinished",
)


class HttpErrorBefore200(Check):
    """A good request, one that has to be refused and, where the profile names one, one that breaks half-way."""

    id = "CT17"
    name = "http-error-before-200"
    stake = (
        "A streamed answer has sent 200 before anything can fail. The caller stores an empty file as a success, and "
        "neither retries nor alarms see it."
    )
    facts = ("life.invoke-60s", "rs.before-first-byte")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that know what to post."""
        return None if profile.invocations else f"profile {profile.name!r} says nothing of POST {_PATH}"

    async def run(self, bench: Bench) -> Outcome:
        """Post the bodies one after the other."""
        rule = bench.profile.invocations
        if rule is None:
            raise RuntimeError("run() of a check that does not apply")
        silent = not_applicable("there is no WebSocket in this check")
        good, log = await _post(bench, rule.good)
        if good.status in _ABSENT:
            absent = not_applicable(f"the container does not offer POST {_PATH} (HTTP {good.status})")
            return absent, absent, log
        if good.status is None and await _no_such_path(bench):
            absent = not_applicable(
                f"the container does not offer {_PATH}, and its server takes no request with a body"
            )
            return absent, absent, log
        finding = _good(rule, good)
        if finding is not None:
            return finding, silent, log
        bad, bad_log = await _post(bench, rule.bad)
        finding = _bad(rule, bad)
        if finding is not None or rule.breaking is None:
            done = passed(f"a bad request is refused with HTTP {bad.status}; a good one gets {len(good.body)} bytes")
            return finding or done, silent, bad_log
        broken, broken_log = await _post(bench, rule.breaking)
        done = passed(f"a bad request is refused with HTTP {bad.status}; a failure half-way shows ({broken})")
        return _breaking(rule.breaking, broken) or done, silent, broken_log


async def _no_such_path(bench: Bench) -> bool:
    """Tell whether the path is unknown: some WebSocket servers drop every request with a body, wherever it goes.

    To a plain GET they answer 404, or 426: there is nothing but a WebSocket.
    """
    if not bench.can(Capability.PING):
        return False
    try:
        async with plain_http() as http:
            reply = await http.get(f"{bench.url}{_PATH}", timeout=bench.patience)
    except httpx.HTTPError:
        return False
    return reply.status_code in {httpx.codes.NOT_FOUND, httpx.codes.UPGRADE_REQUIRED}


async def _post(bench: Bench, template: RequestTemplate) -> tuple[HttpReply, tuple[str, ...]]:
    body = template.render("http")
    kind = "application/json" if template.format == "json" else "text/plain; charset=utf-8"
    reply = await bench.post(body, kind)
    log = [(0.0, f"POST {_PATH} {body}")]
    if reply.status is not None:
        log.append((reply.head_s, f"HTTP {reply.status}, {reply.kind or 'no content type'}"))
    log.append((reply.seconds, f"{len(reply.body)} bytes of body, {reply.problem or 'ended in order'}"))
    return reply, tuple(f"{at:8.3f}  client    {text}" for at, text in log)


def _good(rule: InvocationRule, reply: HttpReply) -> Finding | None:
    if reply.status == httpx.codes.OK and reply.body and not reply.problem:
        return None
    sent = f"POST {_PATH} with a good body: {rule.good.render('http')}"
    if reply.status is not None and reply.status != httpx.codes.OK:
        return warned(
            sent=sent,
            expected="HTTP 200 with a body, or 404 where nothing is offered there",
            observed=str(reply),
            causes=("The profile's invocations.body is not what this container calls a good one.",),
            fix=Fix("Copy the profile, and set body and bad_body of its table [invocations], or leave the table out."),
        )
    return failed(
        sent=sent,
        expected="HTTP 200 with a body",
        observed=str(reply),
        causes=("The response has begun, and what was to fill it raises or ends at once.",),
        fix=_PULL,
    )


def _bad(rule: InvocationRule, reply: HttpReply) -> Finding | None:
    if reply.status is not None and 400 <= reply.status < 500 and reply.is_json:
        return None
    sent = f"POST {_PATH} with a body that has to be refused: {rule.bad.render('http')}"
    expected = "a status of 4xx with a JSON body that says what is wrong"
    if reply.status is not None and reply.status >= 400:
        return warned(
            sent=sent,
            expected=expected,
            observed=str(reply),
            causes=(
                "The exception reaches the server, which answers 500: SageMaker's callers retry that."
                if reply.status >= 500
                else "The error is told in plain text or HTML, the framework's own.",
            ),
            fix=_PULL,
        )
    causes = (
        "The streaming response starts before the generator has run: the status is out when the request is looked at.",
        "The exception is caught and logged, and the empty body is sent all the same.",
    )
    if not reply.problem:
        causes = causes[::-1]
    if reply.is_json:
        causes = ("The error is told in the body, under a status that says success.", causes[0])
    elif reply.status == httpx.codes.OK and len(reply.body) > _HEADER_BYTES and not reply.problem:
        causes = (
            "The wrong value is replaced by a default without a word, so that the caller never learns of it.",
            causes[0],
        )
    return failed(sent=sent, expected=expected, observed=str(reply), causes=causes, fix=_PULL)


def _breaking(template: RequestTemplate, reply: HttpReply) -> Finding | None:
    if reply.problem or reply.status != httpx.codes.OK:
        return None
    return failed(
        sent=f"POST {_PATH} with a body that the model fails on half-way: {template.render('http')}",
        expected="a status of 4xx or 5xx or, where 200 is out already, a body that is visibly broken off",
        observed=f"{reply}, ended in order: it looks like a whole answer",
        causes=("The failure is caught inside the generator, which then simply ends.",),
        fix=_BREAK,
    )
