"""Running checks against a container: the one way, for pytest, the matrix and anyone else."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from contract_tests.bench import START_S, Bench
from contract_tests.check import Check
from contract_tests.checks import good_request
from contract_tests.lastwords import last_words
from contract_tests.overrun import overrun
from contract_tests.profile import Profile
from contract_tests.reach import Capability, Emulated, Starter
from contract_tests.sound import Sound
from contract_tests.verdict import Finding, Status, Verdict, not_applicable
from emulator import Emulator, Endpoint
from emulator.environment import environment_of
from emulator.running import Running

__all__ = [
    "DEFAULT_IDLE_S",
    "LONGEST_CHECK_S",
    "bench_for",
    "emulated",
    "judge",
    "judge_all",
    "longest_for",
    "run_checks",
]

DEFAULT_IDLE_S = 3.0
LONGEST_CHECK_S = 240.0
"""The time of a check, without that of the waits that options ask for."""
_LAST_WORDS_S = 0.1
_ENDPOINT = "under-test"


@contextmanager
def emulated(endpoints: dict[str, str]) -> Iterator[Emulator]:
    """Put an emulator in front of containers (name: base URL) and point this process's SDK at it."""
    with (
        Emulator({name: Endpoint(url) for name, url in endpoints.items()}) as emulator,
        environment_of(emulator.environment),  # the CRT reads the trust store when a client is made
    ):
        yield emulator


@contextmanager
def bench_for(
    target_url: str,
    profile: Profile,
    idle_seconds: float = DEFAULT_IDLE_S,
    *,
    own: Running | None = None,
    starter: Starter | None = None,
    start_seconds: float = START_S,
) -> Iterator[Bench]:
    """Yield the test bench of the container at ``target_url`` (``http://HOST:PORT``).

    ``own`` is that container where it was started here; ``starter`` starts another one like it, which has
    ``start_seconds`` until its ``/ping`` is 200.
    """
    with emulated({_ENDPOINT: target_url}) as emulator:
        reach = Emulated(emulator, _ENDPOINT, target_url, own, starter)
        yield Bench(reach, profile, idle_seconds, start_seconds=start_seconds)


def longest_for(check: Check, bench: Bench) -> float:
    """Return after how many seconds a check is cut; what a user lets the container wait comes on top."""
    tries = 2 * bench.profile.reply_timeout  # a good request, as a TEXT frame and as a BINARY one
    start = bench.start_seconds if Capability.START in check.needs else 0.0
    return LONGEST_CHECK_S + bench.idle_seconds + tries + start


async def judge(check: Check, bench: Bench, longest: float | None = None) -> Verdict:
    """Run one check and return its verdict, not yet graded.

    It is cut after :func:`longest_for` seconds. A caller with less time than that says so by ``longest``: a check that
    was cut then says nothing of the container.
    """
    began = time.monotonic()
    own = bench.reach.own
    written = own.written() if own is not None else 0
    bench.sessions.clear()
    behaviour, closing, log = await _outcome(check, bench, longest)
    behaviour, closing = await _fitted(behaviour, bench), await _fitted(closing, bench)
    said: tuple[str, ...] = ()
    if own is not None and Status.FAIL in {behaviour.status, closing.status}:
        await asyncio.sleep(_LAST_WORDS_S)  # what it wrote last is still on its way through a pipe
        said = last_words(own.output(written))
    outcome = behaviour, closing, log
    return check.verdict(outcome, output=said, sound=_sound(bench), seconds=time.monotonic() - began)


async def _fitted(finding: Finding, bench: Bench) -> Finding:
    """Return the finding with the fix that fits the container's stack, where it differs."""
    if finding.fix is None or not finding.fix.elsewhere:
        return finding
    return replace(finding, fix=finding.fix.on(await bench.stack()))


def _sound(bench: Bench) -> Sound | None:
    """Return the audio of the last answer that had any; that is the one that a failure is about."""
    audio = bench.profile.audio
    answers = [answer for session in bench.sessions for answer in session.answers if answer.audio]
    bench.sessions.clear()
    if audio is None or not answers:
        return None
    return Sound(b"".join(answers[-1].audio), audio.sample_rate, f"request {answers[-1].request_id!r}")


async def _outcome(check: Check, bench: Bench, left: float | None) -> tuple[Finding, Finding, tuple[str, ...]]:
    reason = check.applies(bench.profile) or _lacking(check, bench)
    if reason is not None:
        return not_applicable(reason), not_applicable(reason), ()
    own = longest_for(check, bench)
    longest = own if left is None else min(own, left)
    async with bench.client():
        try:
            async with asyncio.timeout(longest):
                if not bench.measured:
                    await bench.stack()  # while there is somebody to ask: it may not outlive a check
                if check.needs_good_request and not bench.measured:
                    await good_request.measure(bench)
                    bench.sessions.clear()  # what the measurement tried in vain is not the fault of this check
                if check.needs_good_request and bench.baseline is None:
                    blocked = not_applicable(f"no good request is answered: see {good_request.GoodRequest.id}")
                    return blocked, blocked, ()
                return await check.run(bench)
        except TimeoutError:
            finding = overrun(check.id, bench, longest)
            if longest < own:
                finding = not_applicable(f"the time that the caller left, {longest:g} s, was over")
            return finding, not_applicable("the check was cut"), bench.log()


def _lacking(check: Check, bench: Bench) -> str | None:
    """Return why the check cannot be made on this target, None if it can."""
    missing = [need for need in check.needs if not bench.can(need)]
    return f"it needs {' and '.join(missing)}, {bench.reach.without}" if missing else None


async def judge_all(checks: Sequence[Check], bench: Bench) -> list[Verdict]:
    """Run checks one after the other on one bench."""
    return [await judge(check, bench) for check in checks]


def run_checks(
    target_url: str, profile: Profile, checks: Sequence[Check], *, idle_seconds: float = DEFAULT_IDLE_S
) -> list[Verdict]:
    """Judge the container at ``target_url`` (``http://HOST:PORT``) by ``checks``; the verdicts are not graded."""
    with bench_for(target_url, profile, idle_seconds) as bench:
        return asyncio.run(judge_all(checks, bench))
