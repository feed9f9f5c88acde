"""CT22: a voice that fails is an error for the caller, soon; and the agent is as good as new for the next turn."""

import threading
import time
import uuid
from collections.abc import Callable

from contract_tests.agents.bench import AgentBench, AgentPing
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.checks.ending import judge_end
from contract_tests.agents.turn import Turn
from contract_tests.agents.voice import Part
from contract_tests.check import Outcome
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed, warned

__all__ = ["LifeCycle"]

_WITHIN_S = 10.0
_LEFT_WITHIN_S = 5.0
_IDLE_WITHIN_S = 10.0
_CLOCK_S = 1.1
"""``time_of_last_update`` counts whole seconds."""
_SPEAKS_S = 0.8
_POLL_S = 0.1
_SESSION = "contract-life-cycle-"
_MANY = 8
"""Events after which a turn is in its middle, where none is known to be audio."""
_DONE_MEANS = Fix(
    "A sentence is spoken when the container says so (synthesis_complete), never when its socket ends; what ends "
    "before is an error of the turn.",
    before="async for part in speech:                # ends with the socket, however that went\n    yield part",
    after="""\
async for part in speech:
    if part.is_complete:
        break
    yield part
else:
    raise SpeechError("the session ended before the sentence did")""",
)
_BOUND = Fix(
    "Bound the opening of the session and the wait for its first event, and report what went wrong as an event.",
    before="session = await open_session()\nasync for part in session:",
    after="""\
async with asyncio.timeout(5):
    session = await open_session()
    first = await anext(session)""",
)
_FREE = Fix(
    "Yield from a StreamingResponse of your own, and end in `finally` what the turn has started: a caller who leaves "
    "cancels it there, at once.",
    before="@app.entrypoint\nasync def invoke(payload):\n    async for event in turn(payload):\n        yield event",
    after="""\
@app.entrypoint
def invoke(payload):
    return StreamingResponse(frames(payload), media_type="text/event-stream")

async def frames(payload):
    async with aclosing(turn(payload)) as events:        # closes the voice, stops the model
        async for event in events:
            yield frame(event)""",
)
_HELD = "The agent or a lock is held by the turn that was left: nothing releases it in `finally`."
_UNBOUNDED = "Nothing bounds the wait for the voice."
_UNWATCHED = (
    "The task that listens to the voice has ended with its error, and nobody looks at it: the stream waits for a queue "
    "that nothing fills any more."
)
_FAILURES: tuple[tuple[Part, str, str], ...] = (
    (
        Part("leave"),
        "a voice that closes with 1000 in the middle of a sentence",
        "The end of the socket is taken for the end of the sentence.",
    ),
    (
        Part("mute"),
        "a voice whose container accepts the connection and never answers, so that SageMaker refuses the session",
        "The session is opened in a task that nobody waits for, so that its failure is never seen.",
    ),
    (
        Part("refuse"),
        "a voice that answers each sentence with an error",
        "An error message of the container is an unknown message to the agent, and is skipped.",
    ),
)


class LifeCycle(AgentCheck):
    """A turn while /ping is asked, three with a voice that fails, one that is left; a good one behind each."""

    id = "CT22"
    name = "agent-vs-broken-container"
    stake = (
        "The voice will fail one day. A turn that breaks off and looks complete, or never ends, is worse than an "
        "error; and one that is left behind goes on to cost a model and a voice, for nobody."
    )
    facts = ("agent.ping", "agent.idle-limit")

    def run(self, bench: AgentBench) -> Outcome:
        """Take the turns in order, to the first that goes wrong."""
        bench.measure()
        finding = self._healthy(bench)
        closing = judge_end(bench.turns[-1])
        if finding.status is Status.FAIL:
            return finding, closing, bench.log()
        if not bench.voiced:
            worse = self._left_unseen(bench)
            reason = f"{finding.observed}; its voice is not the scripted one, so it cannot be made to fail"
            return worse or passed(reason), closing, bench.log()  # a short turn need not be seen as busy
        for part, what, cause in _FAILURES:
            worse, closing = self._failure(bench, part, what, cause)
            if worse is not None:
                return worse, closing, bench.log()
        return self._left(bench) or finding, closing, bench.log()

    def _healthy(self, bench: AgentBench) -> Finding:
        """Take a good turn; meanwhile, and when it is over, ask /ping."""
        pings: list[AgentPing] = []
        streams, over = threading.Event(), threading.Event()

        def ask() -> None:
            streams.wait()
            while not over.wait(_POLL_S):
                pings.append(bench.ping())

        asking = threading.Thread(target=ask, name="ping", daemon=True)
        if bench.reached:
            asking.start()
        try:
            turn = bench.take("hello", Part(seconds=_SPEAKS_S), seen=lambda _: streams.set())
        finally:
            over.set()
            streams.set()
            if bench.reached:
                asking.join()
        sessions = len(bench.voice.sessions)
        if not turn.done:
            return failed(sent=turn.prompt, expected="a turn that goes well", observed=turn.describe())
        if bench.voiced and sessions != 1:
            return failed(
                sent=f"{turn.prompt}, which is answered with two sentences",
                expected="one speech session for the turn",
                observed=f"{sessions} sessions",
                causes=("A session is opened for each sentence: each one waits for a connection, and for its model.",),
                fix=Fix("Open the session when the turn begins, and speak all of its sentences through it."),
            )
        if not bench.reached:
            return passed("a turn goes well; the agent's /ping is asked by AgentCore alone")
        bad = next((each for each in pings if each.status is None), None)
        return _judge_pings(bench, bad or (pings[0] if pings else bench.ping()))

    def _failure(self, bench: AgentBench, part: Part, what: str, cause: str) -> tuple[Finding | None, Finding]:
        turn = bench.take("hello", part)
        closing = judge_end(turn)
        told = _told_after(turn)
        if told is None or told > _WITHIN_S:
            causes = [cause, _UNBOUNDED]
            if turn.broken or told is not None:
                causes = [_UNWATCHED if part.kind != "mute" else cause, _UNBOUNDED]
            elif turn.done:
                causes.append("The error is logged, and the turn ends as if it had been spoken.")
            return failed(
                sent=what,
                expected=f"an error event within {_WITHIN_S:g} s, and no sign of success",
                observed=turn.describe() if told is None else f"an error only after {told:.1f} s",
                causes=causes,
                fix=_BOUND if turn.broken or told is not None else _DONE_MEANS,
            ), closing
        if turn.profile.done is not None and turn.done:
            return failed(
                sent=what,
                expected="an error event, and no sign of success",
                observed=f"both: {turn.error}, and then {turn.events[-1]}",
                causes=("The event of success is sent in a `finally`.",),
                fix=_DONE_MEANS,
            ), closing
        again = bench.take("hello")
        if not again.done:
            return failed(
                sent=f"{what}; then a good turn",
                expected="the good turn goes well",
                observed=again.describe(),
                causes=("The session, a lock or a task of the turn that failed is kept for the next one.",),
                fix=_FREE,
            ), closing
        return None, closing

    def _left(self, bench: AgentBench) -> Finding | None:
        """Leave in the middle of the audio."""
        what = "a caller who leaves while the voice speaks"
        turn = bench.take("long", Part("endless"), leave=lambda _: any(each.pcm for each in bench.voice.sessions))
        if not turn.left:
            return not_applicable(f"the turn was over before it could be left: {turn.describe()}")
        sessions = bench.voice.sessions
        deadline = time.monotonic() + _LEFT_WITHIN_S
        over = all(each.over.wait(max(0.0, deadline - time.monotonic())) for each in sessions)
        if not over or len(bench.voice.sessions) > len(sessions):
            return failed(
                sent=what,
                expected=f"the agent ends its speech session within {_LEFT_WITHIN_S:g} s",
                observed="it goes on listening, for nobody"
                if not over
                else "it opened another session when the first one had ended",
                causes=(
                    "The turn runs in a task, or in an async generator of the SDK, that is not ended with the request.",
                ),
                fix=_FREE,
            )
        calm = _until(lambda: bench.ping().says != "HealthyBusy", _IDLE_WITHIN_S)
        again = bench.take("hello")
        if not again.done or not calm:
            return failed(
                sent=f"{what}; then a good turn",
                expected="the agent is idle again, and the good turn goes well",
                observed=again.describe() if not again.done else f"/ping: {bench.ping()}",
                causes=(_HELD,),
                fix=_FREE,
            )
        return None

    def _left_unseen(self, bench: AgentBench) -> Finding | None:
        """Leave while a voice speaks that is not ours: what can be seen of it is the next turn of the session."""
        session = f"{_SESSION}{uuid.uuid4()}"
        left = bench.take("long", session=session, leave=lambda turn: len(turn.audio) > 1 or len(turn.events) >= _MANY)
        again = bench.take("hello", session=session)
        if again.done or not left.left:  # a short answer is over before it can be left
            return None
        return failed(
            sent="a caller who leaves in the middle of a turn; then a good turn in the same session",
            expected="the good turn goes well",
            observed=again.describe(),
            causes=(_HELD,),
            fix=_FREE,
        )


def _told_after(turn: Turn) -> float | None:
    """Return after how many seconds the caller knew that the turn had failed, None if never."""
    if turn.refused:
        return turn.seconds
    return None if turn.error is None else turn.error.at


def _judge_pings(bench: AgentBench, busy: AgentPing) -> Finding:
    """Judge /ping: ``busy`` is its answer during a turn."""
    fix = Fix(
        "Answer at once, on the event loop; say HealthyBusy while a turn runs; move time_of_last_update only when the "
        "status changes.",
        before="@app.ping\ndef ping():\n    return PingStatus.HEALTHY",
        after="@app.ping\ndef ping():\n    return PingStatus.HEALTHY_BUSY if turns else PingStatus.HEALTHY",
    )
    if busy.status != 200 or busy.says not in {"Healthy", "HealthyBusy"}:
        return failed(
            sent="GET /ping while a turn streams",
            expected='200 within 3 s and {"status": "Healthy" or "HealthyBusy", ...}',
            observed=str(busy),
            causes=(
                "The turn blocks the event loop on which /ping is answered: a call of the model or the voice that is "
                "not awaited, time.sleep()."
                if busy.status is None
                else "/ping is an answer of its own making, without the status that AgentCore reads.",
            ),
            fix=fix,
        )
    _until(lambda: bench.ping().says == "Healthy", _IDLE_WITHIN_S)
    first = bench.ping()
    threading.Event().wait(_CLOCK_S)
    second = bench.ping()
    if first.updated is None or first.updated != second.updated:
        return warned(
            sent=f"GET /ping twice, {_CLOCK_S:g} s apart, while nothing runs",
            expected="the same time_of_last_update: it is when the status changed",
            observed=f"{first}, then {second}",
            causes=("The time is that of the request: a session that is asked never seems idle, and is never ended.",),
            fix=fix,
        )
    if busy.says != "HealthyBusy":
        return warned(
            sent="GET /ping while a turn streams",
            expected="HealthyBusy: a session that works must not be taken for an idle one",
            observed=str(busy),
            causes=("AgentCore's SDK does not count an open stream as work; the agent has to say so itself.",),
            fix=fix,
        )
    return passed(f"/ping during a turn: {busy.says} after {busy.seconds:.2f} s; one speech session for a turn")


def _until(holds: Callable[[], bool], within: float) -> bool:
    """Wait until something holds; tell whether it did in time."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(_POLL_S)  # another process: there is no event to wait for
    return True
