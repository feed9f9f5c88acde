"""Fault: only reads text. Seen in https://github.com/vllm-project/vllm/pull/49899 and many more.

The line that nearly everybody writes first. SageMaker delivers a part without DataType as a BINARY frame: under uvicorn
`receive_text()` then raises KeyError('text') and the socket is gone without a Close frame; under hypercorn it returns
None, nothing is raised, and this handler, which skips what is empty, waits on for ever.
"""

from contract_tests.good.speech import Session, speech_app


class ReceiveTextSession(Session):
    """Session that has never seen a binary frame."""

    async def converse(self) -> None:
        """Loop on the text of each message."""
        while True:
            message = await self.ws.receive_text()
            if not message:
                continue
            if not await self.answer(message):
                return


app = speech_app(ReceiveTextSession)
