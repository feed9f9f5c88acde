"""Fault: an event comes in two messages. Seen in https://github.com/warmcat/libwebsockets/issues/2235.

Written by a stream writer with a fixed buffer: each half is a message of its own, so each half is a PayloadPart of its
own, and neither of them parses as JSON.
"""

import json

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class SplitControlSession(Session):
    """Session that sends its events by halves."""

    async def control(self, event: protocol.Event) -> None:
        """Send one control event in two TEXT frames."""
        document = json.dumps(event)
        half = len(document) // 2
        await self.ws.send_text(document[:half])
        await self.ws.send_text(document[half:])


app = speech_app(SplitControlSession)
