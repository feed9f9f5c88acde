"""Fault: control events go out as BINARY. Seen in https://github.com/BerriAI/litellm/pull/28848.

`json.dumps(...).encode()` and `send_bytes`, or Node's `ws.send(buffer)`: the caller can no longer tell an event from
audio by its DataType, and plays JSON as a click.
"""

import json

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class ControlAsBinarySession(Session):
    """Session that sends everything as bytes."""

    async def control(self, event: protocol.Event) -> None:
        """Send one control event in one BINARY frame."""
        await self.ws.send_bytes(json.dumps(event).encode())


app = speech_app(ControlAsBinarySession)
