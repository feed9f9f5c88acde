"""CT12: a caller who hangs up in mid-sentence ends the work for that sentence, and leaves nothing behind."""

import time
from dataclasses import dataclass, replace

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.direct import dialled
from contract_tests.pace import busy_text, first_audio_s
from contract_tests.reach import Capability
from contract_tests.snippets import node
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed, warned

__all__ = ["DisconnectStopsWork"]

_WORK_S = 4.0
_SENTENCES = 8
_LEAST_ROUNDS = 3
_BUDGET_S = 12.0
_QUIET_S = 0.05
_SLACK_S = 0.3
_ORPHANED_S = 1.0
_MORE_AUDIO_S = 0.15
_STOP = Fix(
    "Make the audio piece by piece, and look between two pieces whether anybody still listens; free the model in "
    "`finally`.",
    before="""\
with model_lock:
    for sentence in sentences(text):                 # to the end of the text, whoever listens
        frames.put(model.generate(sentence))""",
    after="""\
for sentence in sentences(text):
    if gone.is_set():                                # set by the task that reads, on disconnect
        break
    with model_lock:                                 # one piece; the next caller gets a turn
        frames.put(model.generate(sentence))""",
    elsewhere=(node.STOP_SPEAKING,),
)
_CLEAR = Fix(
    "Keep queues and buffers in an object of the session, made when it is accepted and dropped when it ends.",
    before="pending = deque()                  # of the module: outlives every session",
    after="""\
async def stream(websocket):
    pending = deque()              # of this session only""",
)


@dataclass(frozen=True, slots=True)
class _Solo:
    """A good request when nothing else goes on: seconds to its first audio and in all, bytes of audio, at most."""

    first: float
    seconds: float
    quickest: float
    audio: int
    spread: int
    chatty: bool
    """Whether something follows its end even then: that is the business of CT23."""


class DisconnectStopsWork(Check):
    """Hang up after the first audio of a long text, again and again; each time the next caller is served at once."""

    id = "CT12"
    name = "disconnect-stops-work"
    stake = (
        "Callers hang up in mid-sentence all the time. If the model goes on speaking for nobody, the next caller "
        "waits for it; if something of the old answer is left, the next caller hears it."
    )
    facts = ("close.client-drop", "wire.one-to-one")

    async def run(self, bench: Bench) -> Outcome:
        """Leave a long text after its first audio, by TCP reset or by Close in turns; then a good request each time."""
        solo, log = await self._solo(bench)
        if solo is None:
            unsteady = not_applicable("a good request is not answered twice: see CT0")
            return unsteady, unsteady, log
        text = busy_text(bench, _WORK_S, _SENTENCES)
        work = solo.quickest * len(text) / len(bench.profile.request.sentences[0])
        deadline = time.monotonic() + _BUDGET_S
        rounds, slowest = 0, 0.0
        late: Finding | None = None
        while rounds < bench.hang_ups and (rounds < _LEAST_ROUNDS or time.monotonic() < deadline):
            rounds += 1
            how, left = await self._leave(bench, text, reset=rounds % 2 == 1 and bench.can(Capability.DIAL))
            async with bench.connect() as conversation:
                answer = await conversation.request(f"next-{rounds}")
                await conversation.hear(answer, bench.patience + work)
                stray = answer.complete and not solo.chatty and await conversation.goes_on(_QUIET_S)
                closing = await bench.closing(conversation)
            log = ("the session that was left", *left, "the next session", *bench.log(conversation))
            sent = f"a text of {len(text)} characters, {how} after its first audio, and a good request in a new session"
            finding = _isolated(bench, sent, answer, solo, stray=stray)
            if finding is not None:
                return finding, closing, log
            finding = _late(sent, answer, solo, work)
            if finding is not None and late is not None and Status.FAIL in {finding.status, late.status}:
                return (finding if finding.status is Status.FAIL else late), closing, log
            late = late or finding
            slowest = max(slowest, first_audio_s(answer))
        good = passed(
            f"{rounds} callers hung up in mid-sentence; the next one waited {slowest:.2f} s at most "
            f"({solo.first:.2f} s when nothing went before)"
        )
        # late once in all the rounds: the machine may have been busy with something else
        return (replace(late, status=Status.WARN) if late else good), closing, log

    async def _solo(self, bench: Bench) -> tuple[_Solo | None, tuple[str, ...]]:
        answers = []
        chatty = False
        for number in (1, 2):
            async with bench.connect() as conversation:
                answers.append(await conversation.ask(f"solo-{number}"))
                chatty = chatty or await conversation.goes_on(_QUIET_S)
            if not answers[-1].complete:
                return None, bench.log(conversation)
        sizes = [_size(answer) for answer in answers]
        first = max(first_audio_s(answer) for answer in answers)
        seconds = [answer.seconds for answer in answers]
        spread = max(sizes) - min(sizes)
        solo = _Solo(first, max(seconds), min(seconds), max(sizes), spread, chatty)
        return solo, bench.log(conversation)

    async def _leave(self, bench: Bench, text: str, *, reset: bool) -> tuple[str, tuple[str, ...]]:
        parts = 2 if bench.profile.start else 1
        if reset:
            async with dialled(bench) as (conversation, session):
                await conversation.hear(await conversation.request("left", text), parts=parts)
                session.reset()
            return "left by a TCP reset", bench.log(conversation)
        async with bench.connect() as conversation:
            await conversation.hear(await conversation.request("left", text), parts=parts)
        return "left by the end of the client's input (a Close frame)", bench.log(conversation)


def _size(answer: Answer) -> int:
    return sum(map(len, answer.audio))


def _isolated(bench: Bench, sent: str, answer: Answer, solo: _Solo, *, stray: bool) -> Finding | None:
    """Judge whether the answer is whole, and nothing but the answer."""
    causes = ["A queue, a buffer or the model's state outlives its session, and the next session reads it."]
    bodies = [control.body for control in answer.controls]
    foreign = [body for body in bodies if bench.profile.id_of(body) == "left"]
    audio = bench.profile.audio
    if foreign:
        observed = f"the new session gets a message of the old request: {foreign[0]}"
    elif not answer.complete:
        causes = [
            "What the old request took (a lock, a slot) is never given back: its release does not stand in `finally`.",
            "Synthesis for the caller who has left goes on for longer than anybody waits.",
        ]
        return failed(sent=sent, expected="a complete answer", observed=answer.describe(), causes=causes, fix=_STOP)
    elif audio and _size(answer) > 1.15 * solo.audio + 2 * solo.spread + _MORE_AUDIO_S * 2 * audio.sample_rate:
        observed = (
            f"{_size(answer)} bytes of audio; the same request alone has {solo.audio}: something else is spoken as well"
        )
    elif stray:
        observed = "more comes after the end of the answer, which nobody has asked for in this session"
    else:
        return None
    return failed(
        sent=sent,
        expected="the answer to the new request and nothing else",
        observed=observed,
        causes=causes,
        fix=_CLEAR,
    )


def _late(sent: str, answer: Answer, solo: _Solo, work: float) -> Finding | None:
    """Judge how long the next caller had to wait; ``work``: seconds that the whole text that was left would take."""
    waited = first_audio_s(answer)
    # the sentence that is under way when the caller leaves may be finished: many models cannot be stopped inside one
    prompt = 1.5 * solo.first + _SLACK_S + solo.seconds
    causes = (
        "Synthesis runs in a thread or task that nobody tells to stop: it holds the model to the end of the text.",
        "The loss is only noticed at the next send, and what was asked for before it is made first.",
        "Some servers report a vanished caller only after their Ping timeout.",
    )
    observed = f"the first audio came after {waited:.2f} s; without an abandoned request before it, {solo.first:.2f} s"
    if waited > prompt + max(_ORPHANED_S, work / 4):
        return failed(
            sent=sent,
            expected=f"the abandoned text, about {work:.1f} s of work, is given up; the next one is served within "
            f"{prompt:.2f} s",
            observed=observed,
            causes=causes,
            fix=_STOP,
        )
    if waited > prompt:
        return warned(
            sent=sent,
            expected=f"the first audio within {prompt:.2f} s: 1.5 times its time alone, {_SLACK_S:g} s, and the end of "
            "the sentence under way",
            observed=observed,
            causes=(causes[1], causes[0], causes[2]),
            fix=_STOP,
        )
    return None
