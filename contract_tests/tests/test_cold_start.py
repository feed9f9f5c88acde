"""A container whose model is warmed up by its first text: what is measured by that one must not hide what it does."""

import time

from contract_tests.broken.blocked_loop import BlockedLoopSession
from contract_tests.checks.good_request import GoodRequest
from contract_tests.checks.loop_stays_free import LoopStaysFree
from contract_tests.checks.readiness import ReadinessAndStop
from contract_tests.good import protocol
from contract_tests.good.speech import speech_app
from contract_tests.runner import judge
from contract_tests.tests.judging import restartable
from contract_tests.verdict import Status
from emulator.target import Target

WARM_UP_S = 4.0


class ColdSession(BlockedLoopSession):
    """Session of a model that is compiled when it is needed."""

    warm = False

    async def synthesise(self, request: protocol.Say) -> bytes:
        """Compile once, and work where all others wait."""
        if not ColdSession.warm:
            ColdSession.warm = True
            time.sleep(WARM_UP_S)  # noqa: ASYNC251 - this is the fault
        return await super().synthesise(request)


app = speech_app(ColdSession)


async def test_a_slow_first_answer_hides_neither_a_blocked_loop_nor_itself() -> None:
    with restartable(Target("app", f"{__name__}:app")) as bench:
        good, loop, ready = [
            await judge(check, bench) for check in (GoodRequest(), LoopStaysFree(), ReadinessAndStop())
        ]
    assert bench.baseline is not None
    assert bench.baseline.seconds < WARM_UP_S / 2 < WARM_UP_S <= bench.baseline.slowest
    assert good.status is Status.PASS
    assert f"another one in {bench.baseline.seconds:.2f} s" in good.behaviour.observed
    assert loop.status is Status.FAIL
    assert "runs on the event loop" in loop.behaviour.causes[0]
    assert ready.behaviour.status is Status.WARN
    assert ready.behaviour.causes[0] == "The model is loaded, compiled or warmed up by the first request."
