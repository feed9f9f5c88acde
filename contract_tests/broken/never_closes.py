"""Fault: `close` is ignored. Seen in https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents on uvicorn 0.30.

The caller waits for the end of the stream, the container for the next message, and the session holds its slot until the
platform's limit of 30 minutes.
"""

from contract_tests.good.speech import Session, speech_app


class NeverClosesSession(Session):
    """Session without an end."""

    async def close(self) -> bool:
        """Take note and go on."""
        return True


app = speech_app(NeverClosesSession)
