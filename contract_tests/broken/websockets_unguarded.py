"""Fault: parses outside the try, on the `websockets` server. Seen in https://github.com/soniqo/speech-swift/pull/315.

The same mistake as elsewhere, with another look: this server closes with 1011 where uvicorn just drops the connection.
"""

import asyncio
import json

from contract_tests.good.websockets_speech import WebsocketsSession, main


class UnguardedSession(WebsocketsSession):
    """Session that looks into a message before it knows that it is JSON."""

    async def answer(self, payload: str | bytes) -> bool:
        """Answer one message."""
        if isinstance(payload, str) and json.loads(payload or "{}") == {"type": "keepalive"}:
            return True
        return await super().answer(payload)


if __name__ == "__main__":
    asyncio.run(main(UnguardedSession))
