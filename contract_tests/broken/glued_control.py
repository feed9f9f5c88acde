"""Fault: event and audio share a frame, against https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents.

That sample's client takes a payload for control only if the whole of it parses as JSON. A container that glues its
start event to the first PCM chunk, because both are ready at once, has its event played as a click.
"""

import json
from collections.abc import Iterable

from contract_tests.good import protocol
from contract_tests.good.speech import Session, speech_app


class GluedControlSession(Session):
    """Session that saves a frame at the wrong end."""

    head = b""

    async def control(self, event: protocol.Event) -> None:
        """Hold the start event back until there is audio; send the others as usual."""
        if event["type"] == "synthesis_start":
            document = json.dumps(event).encode()
            self.head = document + b" " * (len(document) % 2)  # even: the samples behind it stay aligned
        else:
            await super().control(event)

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM as usual, the start event in front of the first frame."""
        head, self.head = self.head, b""
        for frame in super().frames(pcm):
            yield head + frame
            head = b""


app = speech_app(GluedControlSession)
