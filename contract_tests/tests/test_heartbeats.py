"""A container that also sends what belongs to no answer: it speaks correctly, and no wait for it is without an end."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests.bench import Bench
from contract_tests.check import Check
from contract_tests.checks.bad_message_isolation import BadMessageIsolation
from contract_tests.checks.disconnect import DisconnectStopsWork
from contract_tests.checks.good_request import GoodRequest
from contract_tests.checks.many_sentences import ManySentences
from contract_tests.checks.nothing_to_speak import NothingToSpeak
from contract_tests.checks.order import OrderAndCancel
from contract_tests.good.speech import Session, speech_app
from contract_tests.mark import SilenceMark
from contract_tests.profile import load
from contract_tests.runner import bench_for, judge
from contract_tests.verdict import Status
from emulator.launch import running
from emulator.target import Target

EVERY_S = 0.04
LONGEST_S = 40.0


class Beating(Session):
    """Sends a heartbeat 25 times a second; a text of dots it does not answer."""

    async def run(self) -> None:
        await self.ws.accept()
        beat = asyncio.create_task(self.beat())
        with suppress(Exception):
            await self.converse()
        beat.cancel()

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            await self.ws.send_text('{"type": "heartbeat"}')

    async def answer(self, payload: str | bytes) -> bool:
        text = payload if isinstance(payload, str) else payload.decode("utf-8", "replace")
        return True if '"..."' in text else await super().answer(payload)


app = speech_app(Beating)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    with (
        running(Target("app", f"{__name__}:app"), 60, Path.cwd()) as own,
        bench_for(own.url, replace(load("kokoro"), reply_timeout=2.0), 1.5) as made,
    ):
        yield made


@pytest.mark.parametrize(
    "check", [ManySentences(), OrderAndCancel(), BadMessageIsolation(), DisconnectStopsWork()], ids=lambda each: each.id
)
async def test_it_passes(bench: Bench, check: Check) -> None:
    verdict = await judge(check, bench, LONGEST_S)
    assert verdict.status is Status.PASS, verdict


async def test_a_request_that_is_not_answered_is_given_up_all_the_same(bench: Bench) -> None:
    verdict = await judge(NothingToSpeak(), bench, LONGEST_S)
    assert verdict.status is Status.FAIL
    assert re.search(r"nothing but \d+ messages that belong to no answer for", verdict.worst.observed), verdict.worst


async def test_an_end_by_silence_is_the_end_of_the_audio(bench: Bench) -> None:
    bench.profile = replace(bench.profile, end=SilenceMark(0.3), start=None, error=None)
    verdict = await judge(GoodRequest(), bench, LONGEST_S)
    assert verdict.status is Status.PASS, verdict
