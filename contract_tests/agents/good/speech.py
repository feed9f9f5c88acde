"""A speech session of the stand-in agent, over the official SDK: one for each turn."""

import json
import math
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contract_tests.agents.good.surroundings import setting
from contract_tests.client import Client, Part, Session

__all__ = ["Speech", "SpeechError"]

_ANSWER_S = 5.0


class SpeechError(Exception):
    """Raised where a sentence is not spoken to its end."""


class Speech:
    """Speaks one sentence after the other. Every step is a method, so that a broken agent can replace exactly one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.duration: float | None = None
        """What the container declared for the last sentence, in seconds, where that is a number."""

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator["Speech"]:
        """Open a session to the endpoint that speaks; it is closed afterwards."""
        async with Client.connect(setting("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2")) as client:
            session = await client.open(setting("SPEECH_ENDPOINT"))
            try:
                yield cls(session)
            finally:
                await session.close()

    async def say(self, text: str) -> AsyncIterator[bytes]:
        """Speak a sentence and yield its audio as it comes."""
        request_id = str(uuid.uuid4())
        await self._session.send(json.dumps({"text": text, "request_id": request_id}).encode(), "UTF8")
        while isinstance(part := await self._session.receive(_ANSWER_S), Part):
            if part.data_type != "UTF8":
                yield part.data
            elif self.spoken(json.loads(part.data)):
                return
        self.broken_off(str(part))

    def spoken(self, event: dict[str, object]) -> bool:
        """Take a control message; tell whether it is the end of the sentence."""
        if event.get("type") == "error":
            raise SpeechError(str(event.get("message")))
        declared = event.get("total_duration_s")
        self.duration = self.checked(declared) if isinstance(declared, float) else None
        return event.get("type") == "synthesis_complete"

    def checked(self, seconds: float) -> float | None:
        """Return what may be passed on of a declared duration."""
        return seconds if math.isfinite(seconds) else None

    def broken_off(self, how: str) -> None:
        """Take the end of the session in the middle of a sentence."""
        raise SpeechError(f"the voice broke off: {how}")
