"""CT13: two callers at once get each their own words, in their own voice, in bounded time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.client import Failed
from contract_tests.conversation import Conversation
from contract_tests.mark import AnyReplyMark
from contract_tests.pace import audio_parts, busy_text
from contract_tests.timbre import changes_voice
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned

__all__ = ["TwoSessions"]

_WORK_S = 1.5
_SENTENCES = 3
_TOLERANCE = 0.15
_TOLERANCE_S = 0.15
_NOTICEABLE_S = 0.6
"""Less than half of the long text: so much of it is left, at least, when the short one is asked for."""
_LONG, _SHORT, _OTHER = "long", "short", "other"
_OWN = Fix(
    "Keep everything that belongs to a request in an object of its own, and let sessions share nothing but the model.",
    before="""\
frames = asyncio.Queue()                   # of the module: whoever reads first gets it
model.voice = request["voice"]             # of the one model: the last caller wins""",
    after="""\
async def stream(websocket):
    frames = asyncio.Queue()               # of this session
    pcm = await asyncio.to_thread(model.generate, text, voice=request["voice"])""",
)
_TURNS = Fix(
    "Take turns: hold the model for one sentence, not for one request.",
    before="with model_lock:\n    for sentence in sentences(text):\n        speak(sentence)",
    after="for sentence in sentences(text):\n    with model_lock:\n        speak(sentence)",
)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The long answer in the first voice and the short one in the second; ``other``: the long text in that voice."""

    long: Answer
    short: Answer
    other: Answer | None = None


class TwoSessions(Check):
    """A long text on one session, and while it is spoken a short one on another, in another voice."""

    id = "CT13"
    name = "two-sessions"
    stake = "One caller hears another caller's words or voice, or waits until the other one is done."
    facts = ("wire.one-to-one", "close.persistent")

    async def run(self, bench: Bench) -> Outcome:
        """Ask for both texts one after the other, for comparison, and then for both at once."""
        request = bench.profile.request
        text, short = busy_text(bench, _WORK_S, _SENTENCES), request.sentences[-1]
        voices = (*request.voices[:2], None, None)
        first, second = (voices[0], voices[1] or voices[0])
        alone: list[Answer] = []
        asked = [(_LONG, text, first), (_SHORT, short, second)]
        if bench.profile.audio and first != second:
            asked.append((_OTHER, text, second))
        for request_id, words, voice in asked:
            async with bench.connect() as conversation:
                alone.append(await conversation.ask(request_id, words, voice))
            if not alone[-1].complete:
                unsaid = not_applicable(f"not even alone is it answered: {alone[-1].describe()}")
                return unsaid, unsaid, bench.log(conversation)
        solo = _Pair(alone[0], alone[1], alone[2] if len(alone) == 3 else None)
        patience = bench.patience + 2 * (solo.long.seconds + solo.short.seconds)
        async with bench.connect() as one, bench.connect() as two:
            long = await one.request(_LONG, text, first)
            # a container that sends all of it in the end has to be met while it works
            with suppress(TimeoutError):
                async with asyncio.timeout(solo.long.seconds / 2):
                    await one.hear(long, patience, parts=2)
            answer = await two.request(_SHORT, short, second)
            await asyncio.gather(one.hear(long, patience), two.hear(answer, patience))
            both = _Pair(long, answer)
            finding = _judge(bench, (one, two), both, solo)
            closing = await bench.closing(two)
        log = ("the session of the long text", *bench.log(one), "the session of the short text", *bench.log(two))
        return finding, closing, log


def _judge(bench: Bench, sessions: tuple[Conversation, Conversation], both: _Pair, solo: _Pair) -> Finding:
    sent = "a long text on one session and, while it was being spoken, a short one on another, in another voice"
    finding = (
        _unanswered(sent, both)
        or _crossed(bench, sent, both, solo)
        or _voice(bench, sent, both, solo)
        or _starved(sent, sessions, both, solo)
    )
    if finding is not None:
        return finding
    return passed(
        f"two sessions at once: the short answer took {both.short.seconds:.2f} s ({solo.short.seconds:.2f} s alone), "
        f"the long one {both.long.seconds:.2f} s ({solo.long.seconds:.2f} s alone)"
    )


def _unanswered(sent: str, both: _Pair) -> Finding | None:
    for what, answer in (("the short text", both.short), ("the long text", both.long)):
        if answer.complete:
            continue
        causes = [
            "Both sessions use one queue, one buffer or one decoder, and one takes what the other waits for.",
            "A lock is held for the whole of a session, not of a sentence.",
        ]
        if isinstance(answer.outcome, Failed) and not answer.parts:
            causes = ["The container takes one session at a time and turns the next caller away.", *causes]
        return failed(
            sent=sent,
            expected="a complete answer on both sessions",
            observed=f"{what}: {answer.describe()}",
            causes=causes,
            fix=_OWN,
        )
    return None


def _crossed(bench: Bench, sent: str, both: _Pair, solo: _Pair) -> Finding | None:
    """Find what one session got of the other: a message, audio, or the whole answer."""
    observed = ""
    for answer, foreign in ((both.short, _LONG), (both.long, _SHORT)):
        bodies = [control.body for control in answer.controls]
        strays = [body for body in bodies if bench.profile.id_of(body) == foreign]
        if strays:
            observed = f"the session of the {answer.request_id} text got a message of the other: {strays[0]}"
    audio = bench.profile.audio
    for answer, alone in ((both.short, solo.short), (both.long, solo.long)):
        if audio is None or observed:
            break
        got, due = (sum(map(len, each.audio)) / 2 / audio.sample_rate for each in (answer, alone))
        if abs(got - due) > _TOLERANCE * due + _TOLERANCE_S:
            observed = f"the {answer.request_id} text has {got:.2f} s of audio; alone it has {due:.2f} s"
    if isinstance(bench.profile.end, AnyReplyMark) and not observed:
        short, long, right = (answer.parts[0].data for answer in (both.short, solo.long, solo.short))
        if short == long != right:
            observed = "the short request got the answer to the long one"
    if not observed:
        return None
    return failed(
        sent=sent,
        expected="each session gets its own answer, the same as alone",
        observed=observed,
        causes=(
            "One queue, buffer or file of the module is used by all sessions: who reads first gets it.",
            "The state of the decoder is an attribute of the one model object, and two requests change it in turns.",
        ),
        fix=_OWN,
    )


def _voice(bench: Bench, sent: str, both: _Pair, solo: _Pair) -> Finding | None:
    audio = bench.profile.audio
    if audio is None or solo.other is None:
        return None
    heard, own, foreign = (b"".join(answer.audio) for answer in (both.long, solo.long, solo.other))
    third = changes_voice(heard, own, foreign, audio.sample_rate)
    if third is None:
        return None
    return failed(
        sent=sent,
        expected="the long text in the voice that was asked for, from its first word to its last",
        observed=f"part {third} of 3 of the long text sounds like the other caller's voice (average spectrum)",
        causes=("The voice is kept in the one model object, or in the module, and the second request overwrites it.",),
        fix=_OWN,
    )


def _starved(sent: str, sessions: tuple[Conversation, Conversation], both: _Pair, solo: _Pair) -> Finding | None:
    """Warn where the short text had to wait for the end of the long one."""
    heard = audio_parts(both.short) or both.short.parts
    began = sessions[1].session.began + heard[0].at
    ended = sessions[0].session.began + both.long.parts[-1].at
    waited = heard[0].at - both.short.sent_at
    if began < ended or waited < _NOTICEABLE_S:
        return None
    return warned(
        sent=sent,
        expected="the short text is spoken between two sentences of the long one",
        observed=f"its first audio came after {waited:.2f} s, when the long text was over; alone it is there after "
        f"{solo.short.longest_gap:.2f} s",
        causes=("The model is locked for a whole request, so callers wait for each other's last sentence.",),
        fix=_TURNS,
    )
