"""CT14: answers come in the order of the requests, one whole answer after the other, and a cancelled one stops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from contract_tests.answer import Reader
from contract_tests.bench import Bench
from contract_tests.blame import second_request_fails
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed, Part, Silence
from contract_tests.conversation import Conversation
from contract_tests.mark import JsonMark
from contract_tests.pace import busy_text
from contract_tests.profile import CancelRule, Profile
from contract_tests.snippets import node
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed, warned
from contract_tests.waiting import Waiting

__all__ = ["OrderAndCancel"]

_WORK_S = 1.5
_SENTENCES = 3
_CANCELLED_WORK_S = 4.0
_CANCELLED_SENTENCES = 8
_FIRST, _SECOND = "first", "second"
_STOPPED, _AFTER = "cancelled", "after-cancel"
_QUEUE = Fix(
    "Put requests into a queue of the session, and let one task take them out and write to the socket.",
    before="""\
async for message in websocket:
    asyncio.create_task(speak(websocket, message))     # all at once, on one socket""",
    after="""\
async def speaker():
    while True:
        await speak(websocket, await requests.get())   # the only one that writes

async for message in websocket:
    requests.put_nowait(message)""",
    elsewhere=(node.ORDER,),
)
_STOP = Fix(
    "Stop the work first, drop what waits to be sent, and acknowledge last.",
    before="""\
await websocket.send_text(cancelled(request_id))
stop.set()                                   # what is in the pipeline still comes out""",
    after="""\
task.cancel()
await asyncio.wait([task])                   # from here on nothing of it is sent
await websocket.send_text(cancelled(request_id))""",
)


@dataclass(frozen=True, slots=True)
class _Event:
    """One thing that came: audio (of whom, nobody says), or a control message about the request ``id``."""

    kind: Literal["audio", "start", "end", "error", "ack"]
    id: str = ""
    size: int = 0


class OrderAndCancel(Check):
    """A long request and, right behind it, a short one; then a request that is cancelled in mid-audio."""

    id = "CT14"
    name = "order-and-cancel"
    stake = (
        "Audio frames carry no name. If the second sentence begins before the first one has ended, the caller hears "
        "both mixed up, or in the wrong order; after a barge-in they hear what should have been cut."
    )
    facts = ("frame.one-to-one", "close.persistent")

    def applies(self, profile: Profile) -> str | None:
        """Only profiles whose answers say which request they belong to."""
        if isinstance(profile.end, JsonMark) and profile.id_member is not None:
            return None
        return f"profile {profile.name!r} cannot tell two answers apart (reply.end names no '{{id}}')"

    async def run(self, bench: Bench) -> Outcome:
        """Send two requests without waiting; where the profile has a cancel message, use it in a second session."""
        async with bench.connect() as conversation:
            text = busy_text(bench, _WORK_S, _SENTENCES)
            await conversation.request(_FIRST, text)
            await conversation.request(_SECOND, bench.profile.request.sentences[-1])
            ear = _Ear(conversation, (_FIRST, _SECOND))
            outcome = await ear.until_over({_FIRST, _SECOND})
            closing = await bench.closing(conversation)
        log = bench.log(conversation)
        finding = _order(ear.events, outcome)
        if outcome is not None and finding.status is Status.FAIL and await second_request_fails(bench):
            unjudged = not_applicable("a session does not outlive its first request: see CT7")
            return unjudged, unjudged, log
        if finding.status is not Status.PASS or bench.profile.cancel is None:
            return finding, closing, log
        return await self._cancel(bench, bench.profile.cancel)

    async def _cancel(self, bench: Bench, rule: CancelRule) -> Outcome:
        async with bench.connect() as conversation:
            ear = _Ear(conversation, (_STOPPED, _AFTER), rule)
            await conversation.request(_STOPPED, busy_text(bench, _CANCELLED_WORK_S, _CANCELLED_SENTENCES))
            heard = await ear.until("audio" if bench.profile.audio else "start", _STOPPED)
            await conversation.send(rule.render(_STOPPED).encode(), conversation.data_type)
            heard = heard or await ear.until("ack", _STOPPED)
            before = len(ear.events)
            if heard is None:
                await conversation.request(_AFTER)
                heard = await ear.until_over({_AFTER})
            finding = _stale(bench, rule, ear.events[before:], acknowledged=ear.has("ack", _STOPPED), outcome=heard)
            if finding is None:
                finding = await self._cancel_finished(bench, rule, conversation)
            closing = await bench.closing(conversation)
        return finding, closing, bench.log(conversation)

    async def _cancel_finished(self, bench: Bench, rule: CancelRule, conversation: Conversation) -> Finding:
        await conversation.send(rule.render(_AFTER).encode(), conversation.data_type)
        answer = await conversation.ask_again("last")
        if answer.complete:
            return passed("two requests in a row answered in order; a cancelled one stopped, and the session went on")
        return failed(
            sent="a cancel message for a request that had ended already, and a good request",
            expected=f"the cancel message answered or ignored, and a complete answer within {bench.patience:.0f} s",
            observed=answer.describe(),
            causes=("The container waits for the end of a request that has already ended.",),
            fix=Fix("Look the request up first; if it is not under way, acknowledge the cancel message, or ignore it."),
        )


class _Ear:
    """Reads one session and writes down, in order, what came about the requests ``ids``."""

    def __init__(self, conversation: Conversation, ids: Sequence[str], cancel: CancelRule | None = None) -> None:
        self._conversation = conversation
        self._ids = ids
        self._cancel = cancel
        self._answer = conversation.expect(ids[0])
        self._reader = Reader(conversation.profile, self._answer)
        self._waiting = Waiting(conversation.session.now)
        self.events: list[_Event] = []

    def has(self, kind: str, request_id: str) -> bool:
        """Tell whether such an event has come."""
        return any((event.kind, event.id) == (kind, request_id) for event in self.events)

    async def until_over(self, ids: set[str]) -> Ended | Failed | Silence | None:
        """Read until each of ``ids`` has its end or an error; return what came instead, if it did."""
        self._waiting = Waiting(self._conversation.session.now)
        while not all(self.has("end", each) or self.has("error", each) for each in ids):
            if (outcome := await self._next()) is not None:
                return outcome
        return None

    async def until(self, kind: str, request_id: str) -> Ended | Failed | Silence | None:
        """Read until such an event has come; return what came instead, if it did. Audio belongs to nobody."""
        wanted = "" if kind == "audio" else request_id
        self._waiting = Waiting(self._conversation.session.now)
        while not self.has(kind, wanted):
            if (outcome := await self._next()) is not None:
                return outcome
        return None

    async def _next(self) -> Ended | Failed | Silence | None:
        session, patience = self._conversation.session, self._conversation.patience
        part = await session.receive(self._waiting.left(session.now, patience))
        if isinstance(part, Silence):
            return self._waiting.silence(session.now, patience)
        if not isinstance(part, Part):
            return part
        controls, audio = len(self._answer.controls), len(self._answer.audio)
        known, before = self._reader.feed(part), len(self.events)
        size = sum(map(len, self._answer.audio[audio:]))
        if size:
            self.events.append(_Event("audio", size=size))
        self.events += [event for each in self._answer.controls[controls:] for event in self._about(each.body)]
        self._waiting.took(session.now, progress=known or len(self.events) > before)
        return None

    def _about(self, body: object) -> list[_Event]:
        profile = self._conversation.profile
        events = []
        for each in self._ids:
            if profile.end.matches(body, each):
                events.append(_Event("end", each))
            elif profile.start is not None and profile.start.matches(body, each):
                events.append(_Event("start", each))
        if self._cancel is not None:
            marks = [self._cancel.ack] if self._cancel.ack else [profile.end, profile.error]
            events += [
                _Event("ack", each) for each in self._ids if any(mark and mark.matches(body, each) for mark in marks)
            ]
        if not events and profile.error is not None and isinstance(body, dict) and profile.error.matches(body, ""):
            named = str(profile.id_of(body))
            waiting = [each for each in self._ids if not self.has("end", each)] or [self._ids[0]]
            events.append(_Event("error", named if named in self._ids else waiting[0]))
        return events


def _order(events: Sequence[_Event], outcome: Ended | Failed | Silence | None) -> Finding:
    sent = f"a long request {_FIRST!r} and, without waiting, a short one {_SECOND!r}, on one session"
    told = [(event.kind, event.id) for event in events]
    over = {
        each: next((n for n, event in enumerate(told) if event in {("end", each), ("error", each)}), None)
        for each in (_FIRST, _SECOND)
    }
    begun = next((n for n, (kind, each) in enumerate(told) if each == _SECOND and kind != "error"), None)
    first, second = over[_FIRST], over[_SECOND]
    shown = _shown(events)
    if first is None or second is None:
        lost = " and ".join(repr(each) for each in (_FIRST, _SECOND) if over[each] is None)
        return failed(
            sent=sent,
            expected="an answer to each, in the order in which they were sent",
            observed=f"no end of {lost}: {shown}; then {outcome}",
            causes=(
                "A new request takes the place of the one that is being spoken, and nobody is told."
                if second is not None
                else "What comes while the container is busy is read and dropped, or never read.",
                "Two answers wait for each other: for the one lock, or for room in the one send queue.",
            ),
            fix=_QUEUE,
        )
    if ("error", _SECOND) in told[: first + 1]:
        return warned(
            sent=sent,
            expected="the second request waits for its turn",
            observed=f"it is refused while the first one is being spoken: {shown}",
            causes=("The session takes one request at a time instead of queueing a few.",),
            fix=_QUEUE,
        )
    if begun is not None and begun < first:
        inside = ("start", _FIRST) in told[:second] and second < first
        return failed(
            sent=sent,
            expected="the whole answer to the first, then the whole answer to the second",
            observed=f"the second {'is spoken inside' if inside else 'begins before the end of'} the first: {shown}",
            causes=(
                "Each message is served by a task or thread of its own, and all of them write to the one socket.",
                "A short or known text takes a short cut (a cache) past the queue.",
            ),
            fix=_QUEUE,
        )
    late = [event.size for event in events[first:second] if event.kind == "audio"]
    if (
        begun is not None
        and ("start", _SECOND) in told
        and any(event.kind == "audio" for event in events[first : told.index(("start", _SECOND))])
    ):
        return failed(
            sent=sent,
            expected="no audio between the end of the first answer and the start of the second",
            observed=f"audio that belongs to neither ({late[0]} bytes to begin with): {shown}",
            causes=("Control messages and audio take different ways to the socket, and one overtakes the other.",),
            fix=_QUEUE,
        )
    return passed("two requests sent at once were answered one after the other, in their order")


def _shown(events: Sequence[_Event]) -> str:
    """Write the events in a row; audio frames that follow each other are counted."""
    words: list[str] = []
    run = 0
    for event in events:
        if event.kind == "audio":
            run += 1
            continue
        if run:
            words.append(f"{run} x audio")
        run = 0
        words.append(f"{event.kind} {event.id!r}")
    if run:
        words.append(f"{run} x audio")
    if len(words) > 12:
        words[6:-6] = ["…"]
    return ", ".join(words) or "nothing came"


def _stale(
    bench: Bench,
    rule: CancelRule,
    events: Sequence[_Event],
    *,
    acknowledged: bool,
    outcome: Ended | Failed | Silence | None,
) -> Finding | None:
    """Judge what came after the acknowledgement: nothing of the old request, then the answer to the next one."""
    sent = f"a long request, after its first audio the cancel message {rule.render(_STOPPED)}, and a good request"
    if not acknowledged:
        return failed(
            sent=sent,
            expected=f"{rule.ack or 'the end of the answer, or an error,'} within {bench.patience:.0f} s",
            observed=f"no acknowledgement: {outcome}",
            causes=(
                "Nobody reads while the container speaks, so the cancel message waits for the end of what it cancels.",
                "The cancel message is not known, or its request is not found.",
            ),
            fix=_STOP,
        )
    told = [(event.kind, event.id) for event in events]
    begun = told.index(("start", _AFTER)) if ("start", _AFTER) in told else 0
    audio = [event.size for event in events[:begun] if event.kind == "audio"]
    late = [event for event in events if event.id == _STOPPED]
    if audio or late:
        rate = bench.profile.audio.sample_rate if bench.profile.audio else 0
        causes = (
            "The cancel message is acknowledged before the work has stopped: what is in the pipeline comes out.",
            "It is acknowledged, and nothing is stopped at all.",
        )
        much = f"{sum(audio) / 2 / rate:.1f} s of audio" if rate and audio else f"{late[0].kind} {_STOPPED!r}"
        return failed(
            sent=sent,
            expected="nothing of the cancelled request after the acknowledgement",
            observed=f"after it came {much}: {_shown(events)}",
            causes=tuple(reversed(causes)) if ("end", _STOPPED) in told else causes,
            fix=_STOP,
        )
    if ("end", _AFTER) not in told:
        return failed(
            sent=sent,
            expected="a complete answer to the request after the cancelled one",
            observed=f"{_shown(events)}; then {outcome or 'an error'}",
            causes=("The cancelled request keeps what it took: a lock, the queue, the task that speaks.",),
            fix=_STOP,
        )
    return None
