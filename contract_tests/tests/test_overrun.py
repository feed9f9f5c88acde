"""Checks that are cut: by the suite's own limit or by a caller, and whose fault that is."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from contract_tests import runner
from contract_tests.bench import Bench
from contract_tests.check import Check, Outcome
from contract_tests.checks.many_sentences import ManySentences
from contract_tests.checks.readiness import ReadinessAndStop
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge, longest_for
from contract_tests.tests.serving import named, served
from contract_tests.verdict import Status, passed

NEVER_S = 60.0


class Endless(Check):
    """Asks for one answer after the other, for ever."""

    id = "CT99"
    name = "endless"
    stake = "nothing"

    async def run(self, bench: Bench) -> Outcome:
        async with bench.connect() as conversation:
            while True:
                await conversation.ask("again")
                await asyncio.sleep(0.1)


class Waiting(Endless):
    """Asks once, and waits for an answer for longer than the suite gives it."""

    async def run(self, bench: Bench) -> Outcome:
        async with bench.connect() as conversation:
            await conversation.hear(await conversation.request("lost", "..."), NEVER_S)
        return passed(""), passed(""), ()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(runner, "LONGEST_CHECK_S", 1.0)
    profile = replace(load("kokoro"), reply_timeout=2.0)
    with served(named("first-chunk-wait")) as port, bench_for(f"http://127.0.0.1:{port}", profile, 3.0) as made:
        yield made


async def test_a_container_that_answers_all_the_while_is_not_to_blame(bench: Bench) -> None:
    verdict = await judge(Endless(), bench)
    assert verdict.status is Status.NOT_APPLICABLE
    assert "it was not over within 8 s" in verdict.worst.observed
    assert "the container answered at its own pace" in verdict.worst.observed


async def test_a_container_that_never_answers_is(bench: Bench) -> None:
    verdict = await judge(Waiting(), bench)
    assert verdict.status is Status.FAIL
    assert verdict.worst.expected == "an end of the check within 8 s"
    assert "the answer to the request 'lost' had not ended by then" in verdict.worst.observed


async def test_a_caller_without_time_learns_nothing(bench: Bench) -> None:
    verdict = await judge(Waiting(), bench, 2.5)
    assert verdict.status is Status.NOT_APPLICABLE
    assert verdict.worst.observed == "the time that the caller left, 2.5 s, was over"


async def test_a_pause_that_was_asked_for_is_not_cut_off(bench: Bench) -> None:
    bench.idle_seconds = 8.0
    verdict = await judge(ManySentences(), bench)
    assert verdict.status is Status.PASS, verdict
    assert "after 8 s of silence too" in verdict.worst.observed


def test_a_start_that_may_be_slow_is_not_cut_off(bench: Bench) -> None:
    before = longest_for(ReadinessAndStop(), bench)
    bench.start_seconds += 500
    assert longest_for(ReadinessAndStop(), bench) == before + 500
    assert longest_for(ManySentences(), bench) == 8.0
