"""A parameter that a container does not know is another thing than one that it does not check."""

import json

from contract_tests.checks.parameters import Parameters
from contract_tests.good.speech import Session, speech_app
from contract_tests.tests.judging import judged
from contract_tests.verdict import Status


class Deaf(Session):
    """Session of a container with one voice, at one speed."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message as if neither stood in it."""
        document = json.loads(payload)
        document.pop("speed", None)
        document.pop("voice", None)
        return await super().answer(json.dumps(document))


class Lenient(Session):
    """Session that takes another speed where the one that is asked for makes no sense."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message with a speed that the model can take."""
        document = json.loads(payload)
        speed = document.get("speed")
        if speed is not None and not 0.5 <= speed <= 2:
            document["speed"] = 1.0
        return await super().answer(json.dumps(document))


deaf, lenient = speech_app(Deaf), speech_app(Lenient)


async def test_a_parameter_that_nobody_reads_is_a_warning() -> None:
    verdict = await judged(Parameters(), f"{__name__}:deaf")
    assert verdict.status is Status.WARN, verdict
    for member, value in (("voice", '"am_michael"'), ("speed", "1.5")):
        assert f"{member} is not read, whatever it is: a complete answer" in verdict.behaviour.observed
        assert f"a good request, but with {member} = {value}" in verdict.behaviour.sent


async def test_a_wrong_value_that_becomes_a_default_is_a_fault() -> None:
    verdict = await judged(Parameters(), f"{__name__}:lenient")
    assert verdict.status is Status.FAIL, verdict
    assert "replaced by a default without a word" in verdict.behaviour.causes[-1]
