"""CT24: /ping answers 200 within 2 s, before, during and after a session."""

from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.reach import Capability, Ping
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned
from emulator import facts

__all__ = ["PingHealth"]

_TRIES_IN_SESSION = 3
_PING = Fix(
    "Answer /ping at once, from what is known: 200 as soon as the model is loaded, whatever the "
    "load. Keep the model off the "
    "event loop.",
    before="async def ping(request):\n    async with model_lock:\n        return Response()",
    after="async def ping(request):\n    return Response(status_code=200 if model.loaded else 503)",
)


class PingHealth(Check):
    """The health check of the platform."""

    id = "CT24"
    name = "ping"
    stake = (
        "SageMaker polls /ping and replaces an instance that keeps failing it, together with the "
        "conversations that made it "
        "busy. A container that calls itself sick while it works is replaced under load."
    )
    facts = ("life.ping", "life.ping-timeout", "life.ping-post", "life.ping-open-streams")
    needs_good_request = False
    needs = (Capability.PING,)

    async def run(self, bench: Bench) -> Outcome:
        """Ask before, during and after a session that is at work."""
        limit = facts.seconds("life.ping-timeout")
        unjudged = not_applicable("not judged here")
        finding = _judge("before a session", await bench.ping(timeout=limit), limit)
        if finding is not None:
            return finding, unjudged, ()
        async with bench.connect() as conversation:
            answer = await conversation.request("pinged", bench.profile.request.long_text)
            for _ in range(_TRIES_IN_SESSION):
                await conversation.hear(answer, parts=len(answer.parts) + 1)
                ping = await bench.ping(timeout=limit)
                conversation.session.note(f"GET /ping: {ping}")
                finding = finding or _judge("during a session", ping, limit)
            closing = await bench.closing(conversation)
        if finding is None:
            finding = _judge("after a session", await bench.ping(timeout=limit), limit)
        if finding is not None:
            return finding, closing, bench.log(conversation)
        post = await bench.ping("POST", timeout=limit)
        return passed("200 before, during and after a session") if post.status == 200 else _no_post(post), closing, ()


def _judge(when: str, ping: Ping, limit: float) -> Finding | None:
    if ping.status == 200:
        return None
    expected = f"HTTP 200 within {limit:g} s"
    if ping.status is None:
        return failed(
            sent=f"GET /ping {when}",
            expected=expected,
            observed=str(ping),
            causes=(
                "The handler of /ping waits for the model, or for a lock that a session holds.",
                "Synthesis runs on the event loop, so that nothing else gets a turn.",
            ),
            fix=_PING,
        )
    return failed(
        sent=f"GET /ping {when}",
        expected=expected,
        observed=str(ping),
        causes=(
            "/ping reports load instead of health."
            if when == "during a session"
            else "/ping is not routed, or the model is gone.",
        ),
        fix=_PING,
    )


def _no_post(post: Ping) -> Finding:
    return warned(
        sent="POST /ping",
        expected="HTTP 200, as for GET: one place in AWS's guide speaks of POST",
        observed=str(post),
        causes=("Only GET is routed.",),
        fix=Fix(
            "Route both methods.", before='Route("/ping", ping)', after='Route("/ping", ping, methods=["GET", "POST"])'
        ),
    )
