"""Fault: leaves without closing. Seen in https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents.

The handler returns and trusts the server with the rest. What that does differs: EOF without a Close frame under uvicorn
0.54, a socket left open under 0.30, Close 1000 elsewhere. SageMaker has no code and no reason to hand on to the caller.
"""

from contract_tests.good.speech import Session, speech_app


class ReturnWithoutCloseSession(Session):
    """Session that hopes that somebody else says goodbye."""

    async def close(self) -> bool:
        """End the loop and nothing else."""
        return False


app = speech_app(ReturnWithoutCloseSession)
