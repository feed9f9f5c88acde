"""CT0: the request that the profile calls good is answered. Everything else is measured against it."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import replace

from contract_tests.answer import Answer
from contract_tests.bench import Baseline, Bench
from contract_tests.check import Check, Outcome
from contract_tests.checks.control_frames import misnamed
from contract_tests.checks.readiness import EARLY_PING, READY, ReadinessAndStop
from contract_tests.client import Failed, Part, Silence
from contract_tests.conversation import Conversation
from contract_tests.likely import likely_profile, profile_command
from contract_tests.likeness import any_reply, looks_like_error, shown
from contract_tests.profile import Profile, load
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned

__all__ = ["GoodRequest", "measure"]

_OWN_TROUBLE = re.compile(
    r"\b(not|no|un)\s?(loaded|initiali[sz]ed|ready|available)|load|internal|CUDA|model\b", re.IGNORECASE
)
_UNAVAILABLE = re.compile(r"\b50[234]\b|unavailable|not ready", re.IGNORECASE)
_AGAIN_S = 0.5
_QUICK_S = 0.5
_TAIL_S = 0.3
_LONGEST_TAIL_S = 10.0
_DEFAULT_PATH = "invocations-bidirectional-stream"


class GoodRequest(Check):
    """A good request, as a TEXT frame or else as a BINARY one, comes to its regular end."""

    id = "CT0"
    name = "good-request"
    stake = "A container that does not answer a plain request serves nobody, and nothing else about it can be judged."
    facts = ("ctr.path-default", "frame.utf8-text")
    needs_good_request = False

    async def run(self, bench: Bench) -> Outcome:
        """Send one good request; the time that it takes becomes the baseline of the other checks."""
        answer, log = await measure(bench)
        unjudged = not_applicable("not judged here")
        if bench.baseline is not None and any_reply(bench.profile):
            heard = bench.sessions[-1].session.heard if bench.sessions else answer.parts
            return _any_reply(answer, bench.baseline.tail, heard), unjudged, log
        if bench.baseline is not None and bench.late:
            return _late(bench, answer), unjudged, log
        if bench.baseline is not None:
            warm = f"; another one in {bench.baseline.seconds:.2f} s" if bench.baseline.slowest > _QUICK_S else ""
            return passed(f"answered: {answer.describe()}{warm}"), unjudged, log
        return _unanswered(bench.profile, answer), unjudged, log


async def measure(bench: Bench) -> tuple[Answer, tuple[str, ...]]:
    """Try a good request and keep its pace as ``bench.baseline``; return the answer to judge and its wire log.

    A slow one is asked for once more: many a model is compiled or warmed up by the first text, and texts that are
    measured by that one's time would keep it busy for a moment only.
    """
    bench.measured = True
    answer, log = await _answered(bench)
    first = bench.baseline
    if first is not None and first.seconds > _QUICK_S:
        again = (await _try(bench, first.data_type))[0]
        if again.complete:
            bench.baseline = replace(
                first,
                seconds=min(first.seconds, again.seconds),
                slowest=max(first.seconds, again.seconds),
                longest_gap=max(first.longest_gap, again.longest_gap),
            )
    return answer, log


async def _answered(bench: Bench) -> tuple[Answer, tuple[str, ...]]:
    """Try a good request until it is answered, where it may be by and by."""
    began = time.monotonic()
    first, answer, log = await _try_both(bench)
    patience = bench.late_seconds * _may_load(first)
    if bench.baseline is not None and _may_load(first) == 1:
        # its model came between the TEXT frame and the BINARY one
        bench.late = f"{first.describe()}, until {time.monotonic() - began:.0f} s later"
        return (await _try_both(bench))[1:]
    while bench.baseline is None and time.monotonic() - began < patience:
        await asyncio.sleep(_AGAIN_S)  # only the container knows when its model is there
        await _try_both(bench)
        if bench.baseline is not None:
            bench.late = f"{first.describe()}, until {time.monotonic() - began:.0f} s later"
            return (await _try_both(bench))[1:]
    return answer, log


async def _try_both(bench: Bench) -> tuple[Answer, Answer, tuple[str, ...]]:
    """Try a good request as a TEXT frame, then as a BINARY one; the one that is answered becomes the baseline.

    Returns the answer to the TEXT frame, and the one to judge with its wire log.
    """
    tries: list[tuple[Answer, tuple[str, ...]]] = []
    bench.baseline = None
    for data_type in ("UTF8", None):
        answer, tail, conversation = await _try(bench, data_type)
        tries.append((answer, bench.log(conversation)))
        if answer.complete:
            bench.baseline = Baseline(data_type, answer.seconds, answer.seconds, answer.longest_gap, tail)
            return tries[0][0], *tries[-1]
        if conversation.session.request_id is None:
            break  # not even opened: another frame type makes no difference
    return tries[0][0], *tries[0]  # the BINARY try was only for containers that know nothing else


async def _try(bench: Bench, data_type: str | None) -> tuple[Answer, float, Conversation]:
    """Try a good request in a session of its own; return its answer, how long that went on, and the session."""
    async with bench.connect() as conversation:
        conversation.data_type = data_type
        answer = await conversation.ask("good")
        tail = await _tail(conversation) if any_reply(bench.profile) and answer.complete else 0.0
    return answer, tail, conversation


async def _tail(conversation: Conversation) -> float:
    """Return for how long an answer goes on behind its first part, and some more; 0 if it does not."""
    began = last = conversation.session.now
    while isinstance(await conversation.session.receive(_TAIL_S), Part):
        last = conversation.session.now
        if last - began > _LONGEST_TAIL_S:
            break
    return 0.0 if last == began else _TAIL_S


def _may_load(answer: Answer) -> float:
    """Return how likely it is, 0 to 1, that a container that did not answer is only loading its model."""
    outcome = answer.outcome
    if outcome == "error":
        return float(_OWN_TROUBLE.search(str(answer.error)) is not None)
    if not isinstance(outcome, Failed):
        return 0.0
    if outcome.code == "1013" or _UNAVAILABLE.search(outcome.message):  # 1013: try again later
        return 1.0
    return 0.5 if outcome.without_close_frame or outcome.code == "1011" else 0.0  # it fell over a model that is None


def _late(bench: Bench, answer: Answer) -> Finding:
    """Judge a container that answers by and by: CT18 does so where it can start another one."""
    observed = f"answered: {answer.describe()}; but at first, when /ping said 200 already: {bench.late}"
    if all(bench.can(need) for need in ReadinessAndStop.needs):
        return passed(f"{observed} (see {ReadinessAndStop.id})")
    return warned(
        sent="a good request, after /ping had answered 200",
        expected="a complete answer",
        observed=observed,
        causes=(EARLY_PING,),
        fix=READY,
    )


def _any_reply(answer: Answer, tail: float, heard: Sequence[Part]) -> Finding:
    observed = f"the first reply, which this profile takes for the answer: {shown(answer)}"
    if tail and not looks_like_error(answer):
        return warned(
            sent="the profile's small JSON text",
            expected="an answer of one message, since this profile knows no other",
            observed=f"{observed}; but it goes on, and what follows is not looked at",
            causes=("The answer has several parts: a start, audio, an end.",),
            fix=_say_how_it_ends(heard, answer.request_id),
        )
    if not looks_like_error(answer):
        return passed(observed)
    return warned(
        sent="the profile's small JSON text",
        expected="a reply that is no error",
        observed=observed,
        causes=("The container speaks another protocol, so that the checks only see how it refuses requests.",),
        fix=Fix(
            "Write a profile for it: a few lines of TOML with `request.template` and `reply.end` "
            "(copy contract_tests/profiles/sagemaker.toml), and pass it with --profile=FILE.toml."
        ),
    )


def _say_how_it_ends(heard: Sequence[Part], request_id: str) -> Fix:
    known = likely_profile(heard, request_id)
    if known is not None:
        return Fix(
            f"It speaks like the profile {known!r} ({load(known).title}): run the checks with --profile={known}, so "
            "that whole answers, their order and their audio are judged."
        )
    return Fix(
        "Say how its end is recognised, so that whole answers, their order and their audio can be judged: "
        f"`{profile_command(heard, request_id)}`, look it through, then --profile=my.toml (docs/profiles.md)."
    )


def _unanswered(profile: Profile, answer: Answer) -> Finding:
    request = profile.request.render(answer.request_id)
    sent = f"the good request of profile {profile.name!r}, as TEXT, then in a new session as BINARY:\n{request}"
    expected = f"an answer that ends with {profile.end}"
    outcome = answer.outcome
    if isinstance(outcome, Failed) and outcome.kind == "ModelError":
        return failed(
            sent=f"a WebSocket upgrade for /{profile.path or _DEFAULT_PATH}",
            expected="HTTP 101, the upgrade is accepted",
            observed=f"the container refused the upgrade, which a caller sees as HTTP 424: {outcome.message}",
            causes=(
                "The container has no WebSocket route at that path, which is the one that SageMaker uses.",
                "Middleware turns the upgrade away (a demanded Origin or subprotocol, a trailing slash).",
            ),
            fix=Fix(
                'Serve the WebSocket at this path, or name another one with `path = "..."` in the profile.',
                after=f'WebSocketRoute("/{profile.path or _DEFAULT_PATH}", handler)',
            ),
        )
    if answer.outcome == "error":
        observed = f"the container answers it with an error: {answer.error}"
        cause = "The profile's request is not what this container calls a good one."
        if _OWN_TROUBLE.search(str(answer.error)):
            cause = "The container says itself what is missing: the model is not loaded, or fails on every request."
    elif answer.parts and isinstance(outcome, Silence):
        last = answer.controls[-1] if answer.controls else f"{len(answer.parts[-1].data)} bytes of audio"
        observed = f"{len(answer.parts)} parts came, but none of them was recognised as the end; the last one: {last}"
        cause = "The profile recognises the end of an answer by something that this container does not send."
        other = misnamed(profile.end, answer)
        if other is not None:
            observed = f"the end of the answer names another request than {answer.request_id!r}: {other}"
            cause = "The container does not give the request's id back: it sends a default, or an id of its own."
    else:
        observed = answer.describe()
        cause = "The profile's request is not what this container expects, or its handler fails on a plain TEXT frame."
    return failed(
        sent=sent,
        expected=expected,
        observed=observed,
        causes=(cause, "The container is broken for every request; look at its own output."),
        fix=Fix(
            "Give a profile that fits: --profile kokoro, --profile sagemaker, or a TOML file of your own with "
            "`request.template` and `reply.end` (copy contract_tests/profiles/sagemaker.toml)."
        ),
    )
