"""Fault: the end comes twice. Seen in https://github.com/Tencent/WeKnora/pull/2353.

Once for the last chunk of the model and once behind the loop: a client that has gone on takes the second one for the
end of its next request.
"""

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class DoubleCompleteSession(Session):
    """Session that says everything is said, twice."""

    async def control(self, event: protocol.Event) -> None:
        """Send one control event, the end two times."""
        await super().control(event)
        if event["type"] == "synthesis_complete":
            await super().control(event)


app = speech_app(DoubleCompleteSession)
