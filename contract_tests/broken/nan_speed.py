"""Fault: NaN passes the range test. Seen in https://github.com/harry0703/MoneyPrinterTurbo/pull/1333.

`speed < 0.5 or speed > 2` looks like a range; each comparison with NaN is false, Python's JSON parser accepts NaN, and
the length of the audio is then computed from it: the exception leaves the handler, and the session is gone.
"""

import json
import math

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class NanSpeedSession(Session):
    """Session whose range has a hole."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message; a speed is refused if it is too small or too large."""
        try:
            speed = json.loads(payload)["speed"]
            refused = speed < 0.5 or speed > 2
        except (ValueError, TypeError, KeyError):
            return await super().answer(payload)
        if not refused and not 0.5 <= speed <= 2:
            # the good parser would refuse it; here it is on its way into the model
            math.ceil(protocol.RATES[-1] / speed)
        return await super().answer(payload)


app = speech_app(NanSpeedSession)
