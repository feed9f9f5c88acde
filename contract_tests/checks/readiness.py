"""CT18: /ping is 200 when the container can serve, and not before; SIGTERM closes the sessions and ends the process."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from itertools import groupby

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.conversation import Conversation
from contract_tests.direct import DirectSession, dialled
from contract_tests.reach import Capability
from contract_tests.snippets import aiohttp, node
from contract_tests.stack import Stack
from contract_tests.verdict import Finding, Fix, Status, failed, not_applicable, passed, warned
from emulator import facts
from emulator.launch import TargetError, ping_problem
from emulator.running import Running

__all__ = ["EARLY_PING", "READY", "ReadinessAndStop"]

_POLL_S = 0.1
_LAST_WORDS_S = 3.0
_PING_TIMEOUT_S = 2.0
_COLD_TIMES = 3
_COLD_MORE_S = 3.0
_HYPERCORN = (
    "hypercorn on Python 3.12 or newer waits for every open connection, without its graceful_timeout "
    "(https://github.com/pgjones/hypercorn/issues/308); close the sessions in the lifespan's shutdown, or use uvicorn."
)
_NODE = "Node's `server.close()` waits for every open connection, WebSockets too, and nobody closes those."
_GOING_AWAY = (1001, 1012)
_ONCE = (
    ("It cannot run twice on one machine: a fixed port, a lock file, one device.",),
    Fix("Take the port from the command line, and keep files of the process in a directory of its own."),
)
EARLY_PING = "/ping answers as soon as the server is up, while the model still loads in the background."
READY = Fix(
    "Answer 503 until the model is loaded and has spoken once.",
    before="async def ping(request):\n    return Response()                       # the server is up, the model is not",
    after="async def ping(request):\n    return Response(status_code=200 if model.loaded else 503)",
)
_STOP = Fix(
    "Let SIGTERM reach the server (exec-form ENTRYPOINT), bound its shutdown, cancel what a handler still waits for, "
    "and make worker threads daemons.",
    before="""\
finally:
    await worker                             # which waits for its queue, for ever""",
    after="""\
finally:
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)

uvicorn.run(app, timeout_graceful_shutdown=20)""",
    elsewhere=(aiohttp.GOODBYE, node.GOODBYE),
)
_GOODBYE = Fix(
    "On SIGTERM close the open sessions with 1001 (going away) or 1012 (restart) before the process ends. uvicorn does "
    "so by itself; the `websockets` server does when its `serve()` context is left.",
    before="async with serve(handler, host, port):\n    await asyncio.Future()",
    after="""\
async with serve(handler, host, port) as server:
    loop.add_signal_handler(signal.SIGTERM, server.close)
    await server.wait_closed()""",
    elsewhere=(aiohttp.GOODBYE, node.GOODBYE),
)


class ReadinessAndStop(Check):
    """Another container like the one under test, cold: its first /ping of 200, its first answer, and SIGTERM."""

    id = "CT18"
    name = "readiness-and-stop"
    stake = (
        "The first 200 from /ping opens the gates: a container that says it before its model is loaded fails its first "
        "callers. One that does not end on SIGTERM is killed after 30 s, with all its conversations in mid-sentence."
    )
    facts = ("life.ping", "life.startup", "life.stop")
    needs = (Capability.START, Capability.DIAL)

    async def run(self, bench: Bench) -> Outcome:
        """Start one, ask it at its first 200, then end it while a session is open."""
        silent = not_applicable("it never came up")
        try:
            async with _started(bench.reach.start()) as cold:
                problem, seen, cut = await _until_ready(cold, bench.start_seconds)
                if problem:
                    return _never_ready(problem, seen, *(_slow(bench) if cut else _ONCE)), silent, tuple(seen)
                async with dialled(bench, url=cold.url) as (conversation, session):
                    answer = await conversation.ask("first")
                    finding = _judge_first(bench, answer, seen)
                    log = (*seen, *bench.log(conversation))
                    if finding.status is Status.FAIL:
                        return finding, not_applicable("not judged here"), log
                    stop, closing = await _stop(bench, cold, conversation, session)
                log = (*seen, *bench.log(conversation))
        except TargetError as error:
            return _never_ready(error.problem, [], *_ONCE), silent, ()
        if stop.status is Status.PASS and finding.status is Status.PASS:
            return passed(f"{finding.observed}; {stop.observed}"), closing, log
        return (finding if stop.status is Status.PASS else stop), closing, log


@asynccontextmanager
async def _started(starter: AbstractContextManager[Running]) -> AsyncIterator[Running]:
    """Enter and leave a blocking context in a thread: an engine needs seconds for both.

    A thread cannot be stopped: one that is still starting when the check is cut comes to its end before it is left.
    """
    with ExitStack() as stack:
        starting = asyncio.create_task(asyncio.to_thread(stack.enter_context, starter))
        try:
            yield await asyncio.shield(starting)
        finally:
            await asyncio.wait([starting])
            await asyncio.to_thread(stack.close)


async def _until_ready(cold: Running, within: float) -> tuple[str, list[str], bool]:
    """Poll /ping from the start, at most ``within`` seconds.

    Returns what went wrong, what it answered on the way, and whether it was cut because the time was over.
    """
    began = time.monotonic()
    answers: list[tuple[float, str]] = []
    problem, cut = "", False
    while True:
        code = await asyncio.to_thread(cold.exit_code)
        if code is not None:
            problem = f"it exited with code {code}"
            break
        said = await asyncio.to_thread(ping_problem, cold.url, _PING_TIMEOUT_S)
        now = time.monotonic() - began
        answers.append((now, said or "HTTP 200"))
        if not said:
            break
        if now > within:
            problem, cut = f"/ping was not 200 within {within:g} s ({said})", True
            break
        await asyncio.sleep(_POLL_S)
    runs = [(said, list(group)) for said, group in groupby(answers, key=lambda each: each[1])]
    return problem, [f"{group[0][0]:8.3f}  GET /ping  {said} ({len(group)} times)" for said, group in runs], cut


def _slow(bench: Bench) -> tuple[tuple[str, ...], Fix]:
    """Return causes and fix where it was the limit that ended the wait."""
    return (
        f"It needs more than the {bench.start_seconds:g} s that this run gave it: the first one runs beside it.",
        "It waits for ever for something that the first one holds: a lock, one device.",
    ), Fix(
        f"Give it more time with --start-timeout SECONDS; SageMaker gives it {facts.seconds('life.startup'):g} s. What "
        "only one process can hold must not keep another one from starting."
    )


def _never_ready(problem: str, seen: list[str], causes: tuple[str, ...], fix: Fix) -> Finding:
    return failed(
        sent="nothing but GET /ping, to another container like the one under test",
        expected="it comes up, as the first one did",
        observed=f"{problem}{'; ' + seen[-1].strip() if seen else ''}",
        causes=causes,
        fix=fix,
    )


def _judge_first(bench: Bench, answer: Answer, seen: list[str]) -> Finding:
    warm = bench.baseline.seconds if bench.baseline else 0.0
    sent = "a good request at the first 200 from /ping"
    if not answer.complete:
        return failed(
            sent=sent,
            expected=f"a complete answer, as later on (after {warm:.2f} s then)",
            observed=f"{answer.describe()}\n{seen[-1].strip()}",
            causes=(
                EARLY_PING,
                "The model is loaded by the first request, and that fails or takes too long.",
            ),
            fix=READY,
        )
    limit = _COLD_TIMES * warm + _COLD_MORE_S
    if answer.seconds > limit:
        return warned(
            sent=sent,
            expected=f"a complete answer within {limit:.1f} s: {_COLD_TIMES} times the {warm:.2f} s of a warm one, and "
            f"{_COLD_MORE_S:g} s",
            observed=f"it took {answer.seconds:.1f} s",
            causes=(
                "The model is loaded, compiled or warmed up by the first request.",
                "/ping answers as soon as the server is up, and requests wait until the model is there.",
            ),
            fix=READY,
        )
    return passed(f"the first request after the first 200 was answered in {answer.seconds:.2f} s")


async def _stop(
    bench: Bench, cold: Running, conversation: Conversation, session: DirectSession
) -> tuple[Finding, Finding]:
    """Send SIGTERM while the session is open; judge the end of the process, and that of the session."""
    sent = "SIGTERM to the first process, while a session is open"
    session.note("SIGTERM")
    began = time.monotonic()
    await asyncio.to_thread(cold.terminate)
    code = None
    while code is None and time.monotonic() - began < bench.stop_seconds:
        code = await asyncio.to_thread(cold.exit_code)
        if code is None:
            await asyncio.sleep(_POLL_S)  # another process: there is no event to wait for
    took = time.monotonic() - began
    await conversation.drain(_POLL_S, _LAST_WORDS_S)
    closing = _judge_end(sent, session)
    if code is None:
        stack = await bench.stack()
        own = {Stack.HYPERCORN: (_HYPERCORN,), Stack.NODE: (_NODE,)}.get(stack, ()) if stack else ()
        return failed(
            sent=sent,
            expected=f"the process ends within {facts.seconds('life.stop'):g} s; then SageMaker kills it",
            observed=f"it was still running {took:.0f} s later",
            causes=(
                *own,
                "The server waits for the handler of the open session, which waits for something that never ends.",
                "A worker thread that is no daemon keeps the process alive when the server has stopped.",
                "A shell or an init stands in front of the server and does not pass SIGTERM on.",
            ),
            fix=_STOP,
        ), closing
    session.note(f"the process has ended, exit code {code}")
    if not await asyncio.to_thread(ping_problem, cold.url, _PING_TIMEOUT_S):
        return failed(
            sent=sent,
            expected="the server ends",
            observed=f"the first process ended with code {code}, but /ping still answers 200: the server runs on",
            causes=("A shell stands in front of the server: it took SIGTERM for itself and left the server behind.",),
            fix=_STOP,
        ), closing
    return passed(f"it ended {took:.1f} s after SIGTERM"), closing


def _judge_end(sent: str, session: DirectSession) -> Finding:
    code = session.close_code
    if code in _GOING_AWAY:
        return passed(f"Close {code}")
    causes = (
        "The process ends without closing its connections: the default action of SIGTERM, or `os._exit()`."
        if code is None
        else "The server closes as after a regular end, so that the caller takes it for one."
    )
    return warned(
        sent=sent,
        expected="Close 1001 or 1012",
        observed="the session is still open" if session.over is None else f"Close {code}" if code else "no Close frame",
        causes=(causes,),
        fix=_GOODBYE,
    )
