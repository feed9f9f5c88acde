"""First audio that is late once, on a machine that is busy with something else, and late always."""

import time

from contract_tests.broken.collects import CollectingSession
from contract_tests.checks.first_audio import FirstAudioEarly
from contract_tests.good import protocol
from contract_tests.good.paced import PacedSession
from contract_tests.good.speech import speech_app
from contract_tests.tests.judging import judged
from contract_tests.verdict import Status


class Hampered(CollectingSession):
    """Session of a container that is held up in its first long answer."""

    held_up = False

    async def say(self, request: protocol.Say) -> None:
        """Collect the audio of the first long text, and stream what comes after it."""
        first = request.request_id == "early" and not Hampered.held_up
        Hampered.held_up = Hampered.held_up or first
        await (super().say(request) if first else PacedSession.say(self, request))


class Warming(CollectingSession):
    """Session of a container whose very first answer takes far longer than all that follow."""

    pace = 15.0
    warm = False

    def make(self, request: protocol.Say, sentence: str) -> bytes:
        """Make the PCM of one sentence."""
        if not Warming.warm:
            Warming.warm = True
            time.sleep(1)  # the model is compiled: there is nothing to wait for
        return super().make(request, sentence)


hampered, collects, warming = speech_app(Hampered), speech_app(CollectingSession), speech_app(Warming)


async def test_late_once_is_not_late() -> None:
    assert (await judged(FirstAudioEarly(), f"{__name__}:hampered")).status is Status.PASS


async def test_what_a_slow_first_answer_hides_is_asked_for_again() -> None:
    verdict = await judged(FirstAudioEarly(), f"{__name__}:warming")
    assert verdict.status is Status.FAIL
    assert "All audio is collected" in verdict.behaviour.causes[0]


async def test_late_twice_is_late() -> None:
    verdict = await judged(FirstAudioEarly(), f"{__name__}:collects")
    assert verdict.status is Status.FAIL
    assert "All audio is collected" in verdict.behaviour.causes[0]
