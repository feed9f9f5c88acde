"""CT5: while one session is at work, /ping and new sessions are answered at once."""

import asyncio
from dataclasses import dataclass, field

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.likeness import any_reply
from contract_tests.reach import Ping
from contract_tests.snippets import node
from contract_tests.unpunctuated import unpunctuated
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned
from emulator import facts

__all__ = ["LoopStaysFree"]

_WORK_S = 4.0
_MOST_CHARACTERS = 400
_MOST_TEXTS = 8
_ENOUGH_S = _WORK_S / 2
_EVERY_S = 0.2
_NO_NOISE_S = 1.0
"""A handshake that takes longer is no matter of a busy machine."""
_OFF_THE_LOOP = Fix(
    "Move the model call, and whatever else computes, off the event loop: into a thread, an executor or a process of "
    "its own. A lock around the model belongs to that thread, not to /ping.",
    before="for chunk in model.synthesise(text):            # blocks everybody\n    await websocket.send_bytes(chunk)",
    after="""\
chunks = model.synthesise(text)
while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
    await websocket.send_bytes(chunk)""",
    elsewhere=(node.MODEL_ELSEWHERE,),
)


@dataclass
class _Seen:
    """What was measured while the container was at work: /ping, and seconds from a dial to its 101."""

    pings: list[Ping] = field(default_factory=list)
    handshakes: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @property
    def work_s(self) -> float:
        """How long it was at work."""
        return sum(answer.seconds for answer in self.answers)


class LoopStaysFree(Check):
    """A long text without a stop is spoken; meanwhile /ping is asked every 200 ms and sessions are opened.

    A container that is done with it quickly is given the text again, up to eight times in all.
    """

    id = "CT5"
    name = "loop-stays-free"
    stake = (
        "SageMaker gives /ping 2 s and a new socket 250 ms. One model call on the event loop breaks both for everybody "
        "else on the instance: callers are turned away, and a healthy container is replaced because it works."
    )
    facts = ("life.ping-timeout", "ctr.accept-250ms", "life.ping-open-streams")

    async def run(self, bench: Bench) -> Outcome:
        """Look at an idle session first, for comparison, then at one that works."""
        limit = facts.seconds("life.ping-timeout")
        text = _long_text(bench)
        seen = _Seen()
        # where any reply is taken for the answer, the work may go on behind it
        for _ in range(1 if any_reply(bench.profile) else _MOST_TEXTS):
            idle, closing, log = await _at_work(bench, text, seen, limit)
            # a model that is quick blocks the loop for a moment only, but each time
            if not seen.answers[-1].complete or seen.work_s >= _ENOUGH_S:
                break
        return _judge(len(text), idle, seen, limit), closing, log


async def _at_work(bench: Bench, text: str, seen: _Seen, limit: float) -> tuple[Ping, Finding, tuple[str, ...]]:
    """Ask for the text, and look meanwhile; return /ping of the idle session before it, its end, and its wire log."""
    async with bench.connect() as conversation:
        idle = await bench.ping(timeout=limit)
        asked = len(seen.pings)
        answer = await conversation.request("works", text)
        seen.answers.append(answer)
        hearing = asyncio.create_task(conversation.hear(answer, bench.patience_for(text)))
        pinging = asyncio.create_task(_ask_ping(bench, hearing, seen, limit))
        try:
            await _open_sessions(bench, hearing, seen)
            await asyncio.gather(hearing, pinging)
        finally:
            hearing.cancel()
            pinging.cancel()
        for ping in seen.pings[asked:]:
            if ping.seconds > _NO_NOISE_S:
                conversation.session.note(f"a GET /ping meanwhile: {ping}")
        closing = await bench.closing(conversation)
    return idle, closing, bench.log(conversation)


def _long_text(bench: Bench) -> str:
    """Return a text that keeps this container at work for some seconds, as far as it can be long enough."""
    request = bench.profile.request
    pace = bench.baseline.seconds / len(request.sentences[0]) if bench.baseline else 0.0
    length = _WORK_S / pace if pace else _MOST_CHARACTERS
    return unpunctuated(request.sentences, round(min(max(length, len(request.long_text)), _MOST_CHARACTERS)))


async def _ask_ping(bench: Bench, hearing: asyncio.Task[Answer], seen: _Seen, limit: float) -> None:
    while not hearing.done():
        seen.pings.append(await bench.ping(timeout=limit))
        await asyncio.wait([hearing], timeout=_EVERY_S)


async def _open_sessions(bench: Bench, hearing: asyncio.Task[Answer], seen: _Seen) -> None:
    while not hearing.done():
        async with bench.connect() as other:
            seconds = bench.accepted(other)
            if seconds is not None:
                seen.handshakes.append(seconds)
            else:
                seen.refused.append(str(other.session.over))
        await asyncio.wait([hearing], timeout=_EVERY_S)


def _judge(length: int, idle: Ping, seen: _Seen, limit: float) -> Finding:
    late = [ping for ping in seen.pings if ping.status is None] if idle.status is not None else []
    slowest = max(seen.handshakes, default=0.0)
    accept = facts.seconds("ctr.accept-250ms")
    lost = f"; {len(seen.refused)} were turned away: {seen.refused[0]}" if seen.refused else ""
    slow = [seconds for seconds in seen.handshakes if seconds > accept]
    times = f", {len(seen.answers)} times" if len(seen.answers) > 1 else ""
    meanwhile = f"meanwhile GET /ping every {_EVERY_S:g} s and new sessions"
    sent = f"a text of {length} characters without a stop{times}; {meanwhile}"
    expected = f"/ping within {limit:g} s, and HTTP 101 to a new session within {accept * 1000:.0f} ms"
    handshakes = f"the slowest of {len(seen.handshakes)} new sessions was accepted after {slowest:.2f} s{lost}"
    if late:
        blocked = slowest > _NO_NOISE_S or seen.refused
        return failed(
            sent=sent,
            expected=expected,
            observed=f"{len(late)} of {len(seen.pings)} times no answer from /ping within {limit:g} s (with an idle "
            f"session open: {idle}); {handshakes}",
            causes=_BLOCKED if blocked else _LOCKED,
            fix=_OFF_THE_LOOP,
        )
    if slowest > _NO_NOISE_S or seen.refused:
        return failed(
            sent=sent,
            expected=expected,
            observed=f"{handshakes}; "
            + (f"/ping was never slower than {_slowest(seen):.2f} s" if idle.seen else idle.problem),
            causes=_BLOCKED if _slowest(seen) > accept else _ACCEPT_WAITS,
            fix=_OFF_THE_LOOP,
        )
    if len(slow) > max(1, len(seen.answers) // 2):
        return warned(
            sent=sent,
            expected=expected,
            observed=f"{len(slow)} of {len(seen.handshakes)} new sessions took longer; {handshakes}",
            causes=(*_BLOCKED, "All cores are busy, and the event loop does not get its turn: leave one to it."),
            fix=_OFF_THE_LOOP,
        )
    answer = seen.answers[-1]
    if not answer.complete and answer.outcome != "error":
        return not_applicable(f"the long text was not answered, so there was no work to judge: {answer.describe()}")
    if not seen.pings and not seen.handshakes:
        return passed(f"done with a text of {length} characters before anything could be asked")
    pings = f"{len(seen.pings)} /ping, the slowest {_slowest(seen):.2f} s"
    if not idle.seen:
        pings = idle.problem
    elif idle.status is None:
        pings = "/ping does not answer an idle session either, which is for CT24 to say"
    texts = f" on {len(seen.answers)} texts" if times else ""
    return passed(f"{seen.work_s:.1f} s of work{texts}: {pings}; {handshakes}")


def _slowest(seen: _Seen) -> float:
    return max((ping.seconds for ping in seen.pings), default=0.0)


_BLOCKED = (
    (
        "The model, or the encoding of its audio, runs on the event loop: a blocking call inside `async def`. Neither "
        "/ping nor the accept of a new session gets a turn meanwhile."
    ),
    "A C extension that computes in another thread holds the GIL.",
)
_LOCKED = (
    (
        "The event loop is free, since new sessions are accepted at once; /ping itself waits for the model, or for a "
        "lock that synthesis holds."
    ),
    "/ping runs in the same small pool of threads as synthesis, and all of them are taken.",
)
_ACCEPT_WAITS = (
    (
        "/ping is quick, so the event loop is free; a new session waits before it is accepted: for the model, a slot "
        "or a lock that synthesis holds. Accept first, wait afterwards."
    ),
)
