"""CT5 where the longest text is a moment's work, as on a GPU: a blocked loop is one all the same."""

import asyncio
import re
import time

from contract_tests.checks.loop_stays_free import LoopStaysFree
from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app
from contract_tests.tests.judging import judged
from contract_tests.verdict import Status

MOMENT_S = 0.001
"""For each character."""


class QuickSession(Session):
    """Session of a quick model, in a thread."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Work beside the event loop."""
        await asyncio.to_thread(time.sleep, MOMENT_S * len(request.text))
        return await super().synthesise(request)


class BlockingSession(Session):
    """Session of the same model, on the event loop."""

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Work where all others wait."""
        time.sleep(MOMENT_S * len(request.text))  # noqa: ASYNC251 - this is the fault
        return await super().synthesise(request)


quick, blocking = speech_app(QuickSession), speech_app(BlockingSession)


async def test_a_loop_that_is_blocked_for_a_moment_each_time() -> None:
    verdict = await judged(LoopStaysFree(), f"{__name__}:blocking")
    assert verdict.behaviour.status is Status.WARN, verdict
    assert re.match(r"a text of 401 characters without a stop, \d times; ", verdict.behaviour.sent)
    assert "runs on the event loop" in verdict.behaviour.causes[0]


async def test_a_loop_that_stays_free_at_quick_work() -> None:
    verdict = await judged(LoopStaysFree(), f"{__name__}:quick")
    assert verdict.behaviour.status is Status.PASS, verdict
    assert re.match(r"\d\.\d s of work on \d texts: ", verdict.behaviour.observed)


async def test_where_any_reply_is_the_answer_no_work_is_piled_up_behind_it() -> None:
    verdict = await judged(LoopStaysFree(), f"{__name__}:quick", "sagemaker")
    assert verdict.status is Status.PASS
    assert re.match(r"\d\.\d s of work: ", verdict.behaviour.observed)
