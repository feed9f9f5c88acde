"""CT15: a parameter that makes no sense is refused in words, and costs nothing but that request."""

import asyncio
import json
import math
from contextlib import suppress

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.blame import bad_message_ends_session
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.conversation import Conversation
from contract_tests.profile import Profile
from contract_tests.snippets import node
from contract_tests.verdict import Finding, Fix, failed, passed, warned

__all__ = ["Parameters"]

_VALIDATE = Fix(
    "Check every parameter before the model is called, and name it in the error. Write ranges so that NaN is outside "
    "(Python's JSON parser accepts NaN, and each comparison with it is false); look names up in the list of what "
    "there is; never fall back without a word.",
    before='if speed <= 0 or speed > 2:\n    raise BadRequest("speed")',
    after="""\
if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0.5 <= speed <= 2:
    raise BadRequest("speed: expected a number from 0.5 to 2")
if voice not in VOICES:
    raise BadRequest(f"voice: expected one of {sorted(VOICES)}")""",
    elsewhere=(node.VALIDATE,),
)
_NO_EFFECT = 0.05
"""Share by which two answers differ in length to the same text: models need not be exact."""
_NAN = (
    "The range test lets NaN through: each comparison with NaN is false, so `speed <= 0 or speed > 2` does not refuse "
    "it."
)


class Parameters(Check):
    """Each value that the profile calls wrong, and null, in an otherwise good request; then a good request."""

    id = "CT15"
    name = "parameters"
    stake = (
        "A typo in the name of a voice is answered with success and silence, or in another voice; one bad number "
        "ends the session, or keeps the model busy with hours of audio."
    )
    facts = ("frame.opaque", "close.persistent")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles that name parameters, and say how a refusal looks."""
        if not profile.parameters:
            return f"profile {profile.name!r} names no parameters (no table [parameters])"
        if profile.error is None:
            return f"profile {profile.name!r} does not say what an error looks like (no reply.error)"
        return None

    async def run(self, bench: Bench) -> Outcome:
        """Send all wrong values on one session and a good request behind them."""
        unnamed: list[str] = []
        unread: dict[str, str] = {}
        count = 0
        async with bench.connect() as conversation:
            for member, values in bench.profile.parameters.items():
                for value in (*values, None):
                    count += 1
                    answer = await _ask(bench, conversation, f"wrong-{count}", member, value)
                    finding = _judge(bench, member, value, answer)
                    if finding is not None:
                        if await _ends_anyway(bench, answer):
                            known = "a value is refused by closing the session, as every bad message is: CT2 says so"
                            return passed(known), passed("see CT2"), bench.log(conversation)
                        if not await _is_unread(conversation, bench, member, answer):
                            return finding, await bench.closing(conversation), bench.log(conversation)
                        unread[member] = answer.describe()
                        break
                    if answer.outcome == "error" and not _names(answer, member, value):
                        unnamed.append(f"{member} = {_shown(value)}: {answer.error}")
            good = await conversation.ask_again("after-wrong")
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        if not good.complete:
            return _good_lost(good), closing, log
        if unread:
            return _unread(bench, unread), closing, log
        if unnamed:
            return _unnamed(unnamed), closing, log
        return passed(f"{count} wrong values refused by name, the next good request worked"), closing, log


def _names(answer: Answer, member: str, value: object) -> bool:
    """Tell whether the error says which parameter it is about; NaN is no JSON, and strict parsers stop at that."""
    no_json = isinstance(value, float) and not math.isfinite(value)
    return no_json or member.lower() in str(answer.error).lower()


async def _ask(bench: Bench, conversation: Conversation, request_id: str, member: str, value: object) -> Answer:
    """Send one request and read its answer; a flood of audio is not read to its end."""
    payload = bench.profile.request.render_with(request_id, member, value)
    await conversation.send(payload.encode(), conversation.data_type, payload)
    await conversation.follow_up(request_id)
    answer = conversation.expect(request_id)
    with suppress(TimeoutError):
        async with asyncio.timeout(max(bench.bounded, bench.patience + 1)):
            await conversation.hear(answer)
    return answer


async def _is_unread(conversation: Conversation, bench: Bench, member: str, answer: Answer) -> bool:
    """Tell whether a good value, too, is answered like a wrong one: then nobody looks at it."""
    value = bench.profile.effects.get(member)
    if value is None or not answer.complete or not any(answer.audio):
        return False
    good = await _ask(bench, conversation, f"good-{member}", member, value)
    heard, other = (b"".join(each.audio) for each in (answer, good))
    if isinstance(value, str):
        return good.complete and heard == other
    return good.complete and abs(len(other) - len(heard)) < _NO_EFFECT * len(heard)


async def _ends_anyway(bench: Bench, answer: Answer) -> bool:
    return isinstance(answer.outcome, Ended | Failed) and await bad_message_ends_session(bench)


def _judge(bench: Bench, member: str, value: object, answer: Answer) -> Finding | None:
    """Return what is wrong with the answer to a value that has to be refused; null may also mean the default."""
    outcome = answer.outcome
    silent = answer.complete and bench.profile.audio is not None and not any(answer.audio)
    if outcome == "error" or (answer.complete and value is None and not silent):
        return None
    is_nan = isinstance(value, float) and math.isnan(value)
    causes: tuple[str, ...]
    if silent:
        observed = f"success without a byte of audio: {answer.describe()}"
        causes = (
            (
                "The value is not checked; the model finds nothing to work with and yields nothing, and that counts as "
                "done."
            ),
            "An exception is caught and logged, and the answer is completed all the same.",
        )
    elif answer.complete:
        observed = f"accepted: {answer.describe()}"
        causes = ("The value is not checked, or replaced by a default without a word.",)
    elif isinstance(outcome, Ended | Failed):
        observed = answer.describe()
        causes = (
            (
                "The value is not checked, the model or the arithmetic before it raises, and the exception leaves the "
                "handler."
            ),
        )
    elif len(answer.audio) > 1:
        observed = f"no end: after {answer.seconds:.0f} s still audio ({sum(map(len, answer.audio)):,} bytes so far)"
        causes = ("The value is not checked, and asks for hours of audio.",)
    else:
        observed = answer.describe()
        causes = ("The value is not checked: the model hangs on it, or works on an enormous result.",)
    return failed(
        sent=f"a good request, but with {member} = {_shown(value)}",
        expected=f"{'the default, or ' if value is None else ''}an error that names {member}; the session stays open",
        observed=observed,
        causes=(_NAN, *causes) if is_nan else causes,
        fix=_VALIDATE,
    )


def _good_lost(good: Answer) -> Finding:
    return failed(
        sent="a good request, after wrong values that were refused",
        expected="a complete answer on the same session",
        observed=good.describe(),
        causes=("A wrong value is kept as a state of the session, or the model is still at work on it.",),
        fix=_VALIDATE,
    )


def _unread(bench: Bench, unread: dict[str, str]) -> Finding:
    effects = bench.profile.effects
    return warned(
        sent="; ".join(f"a good request, but with {member} = {_shown(effects[member])}" for member in unread),
        expected="an answer that differs, or an error that says that the parameter is not offered",
        observed="; ".join(f"{member} is not read, whatever it is: {answer}" for member, answer in unread.items()),
        causes=("The parameter is not implemented, and members that nobody knows are passed over.",),
        fix=_VALIDATE,
    )


def _unnamed(unnamed: list[str]) -> Finding:
    return warned(
        sent="a good request with one wrong value",
        expected="an error that names the parameter, so that the caller learns what to change",
        observed="\n".join(unnamed[:5]),
        causes=("The exception's own text is sent, whatever it says.",),
        fix=_VALIDATE,
    )


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
