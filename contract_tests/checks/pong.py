"""CT6: every WebSocket Ping is answered, also while the container is at work."""

import asyncio
from dataclasses import replace

from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.reach import Capability, Emulated
from contract_tests.snippets import aiohttp, node
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed, warned
from emulator import Emulator, Endpoint, SessionTrace, Switches

__all__ = ["PongWhileBusy"]

_PING_EVERY_S = 0.5
_WATCH_S = 2.0
_PROMPT_S = 1.0
_GRACE_S = 2.0
_NEVER_CUT = 1000
_LOOP_BLOCKED = "Synthesis runs on the event loop: nothing else, not even the library's Pong, gets a turn."
_NOBODY_READS = (
    "Nobody reads while the container works: the library answers Pings only while the application reads (aiohttp), or "
    "while its queue has room."
)
_READER = Fix(
    "Keep one task that does nothing but read the socket, and another one that works; hold the "
    "backlog in a queue of your own.",
    before="async for message in websocket:\n    await synthesise(message)      # nobody reads meanwhile",
    after="async for message in websocket:\n    await backlog.put(message)     # another task takes it from there",
    elsewhere=(aiohttp.READER, node.MODEL_ELSEWHERE),
)


class PongWhileBusy(Check):
    """The emulator pings every half second instead of every minute and notes when the Pong comes."""

    id = "CT6"
    name = "pong-while-busy"
    stake = "SageMaker pings every session and closes it after five Pings without a Pong: a busy container looks dead."
    facts = ("ping.interval", "ping.misses")
    needs = (Capability.DIAL, Capability.FRAMES)

    async def run(self, bench: Bench) -> Outcome:
        """Ask for a long text behind an emulator that pings often, and read its trace."""
        switches = Switches(ping_interval=_PING_EVERY_S, ping_misses=_NEVER_CUT)
        endpoint = bench.reach.endpoint
        with Emulator({endpoint: Endpoint(bench.url)}, switches=switches) as emulator:
            return await _watch(replace(bench, reach=Emulated(emulator, endpoint, bench.url)))


async def _watch(bench: Bench) -> Outcome:
    async with bench.client(), bench.connect() as conversation:
        health = asyncio.create_task(_slowest_ping(bench))
        await conversation.ask("pinged", bench.profile.request.long_text)
        while conversation.session.now < _WATCH_S and conversation.session.over is None:
            await conversation.session.receive(_WATCH_S - conversation.session.now)
        # a Ping at the very end still has its time
        await conversation.session.receive(_PROMPT_S)
        health.cancel()
        await asyncio.wait([health])
        free = not health.cancelled() and health.exception() is None and health.result() < _PROMPT_S
        trace = bench.trace(conversation)
        finding = not_applicable("there is no trace of this session") if trace is None else _judge(trace, free=free)
        closing = await bench.closing(conversation)
    return finding, closing, bench.log(conversation)


async def _slowest_ping(bench: Bench) -> float:
    """Ask /ping until cancelled; return how long the slowest answer took: whether the event loop is free."""
    slowest = 0.0
    try:
        while True:
            slowest = max(slowest, (await bench.ping(timeout=_GRACE_S)).seconds)
            await asyncio.sleep(_PING_EVERY_S)
    except asyncio.CancelledError:
        return slowest


def _judge(trace: SessionTrace, *, free: bool) -> Finding:
    """Judge the Pongs. ``free``: whether /ping was fast meanwhile, so that it cannot be the event loop."""
    entries = [entry for entry in trace.entries if entry.hop == "container"]
    end = entries[-1].at if entries else 0.0
    pings = [entry.at for entry in entries if entry.kind == "ping" and entry.direction == "out"]
    pongs = [entry.at for entry in entries if entry.kind == "pong" and entry.direction == "in"]
    judged = [at for at in pings if at <= end - _PROMPT_S]
    if not judged:
        return not_applicable("the session was over before a Ping was due")
    waits = [min((pong - at for pong in pongs if pong >= at), default=None) for at in judged]
    missing = [at for at, wait in zip(judged, waits, strict=True) if wait is None and at <= end - _GRACE_S]
    late = max((wait for wait in waits if wait is not None), default=0.0)
    sent = f"a Ping every {_PING_EVERY_S:g} s while the container answers a long request"
    causes = (_LOOP_BLOCKED, _NOBODY_READS)
    if free:
        causes = (_NOBODY_READS, _LOOP_BLOCKED)
    if missing or late > _GRACE_S:
        observed = f"no Pong to {len(missing)} of {len(judged)} Pings" if missing else f"a Pong took {late:.1f} s"
        return failed(
            sent=sent, expected=f"a Pong to each, within {_GRACE_S:g} s", observed=observed, causes=causes, fix=_READER
        )
    if late > _PROMPT_S:
        return warned(
            sent=sent,
            expected=f"a Pong within {_PROMPT_S:g} s",
            observed=f"a Pong took {late:.1f} s",
            causes=causes,
            fix=_READER,
        )
    return passed(f"{len(judged)} Pings answered, the slowest after {late:.2f} s")
