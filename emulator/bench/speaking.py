"""A client of a speech container: texts out, audio in, and when it came."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from smithy_core.exceptions import SmithyError

from emulator.bench.client import Client

__all__ = ["RATE", "Heard", "SpeechFailedError", "speak"]

RATE = 24_000
"""Samples per second of 16-bit mono."""
_LIMIT_S = 300


class SpeechFailedError(Exception):
    """Raised when the container refuses a text, or does not speak it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer. Seconds from the first text that was sent."""

    first_s: float
    total_s: float
    pcm: bytes

    @property
    def audio_s(self) -> float:
        """How long it is."""
        return len(self.pcm) / 2 / RATE


async def speak(
    client: Client, texts: Sequence[str], voice: str = "af_heart", clock: Callable[[], float] = time.perf_counter
) -> Heard:
    """Send texts, all at once but a message each, over an open session; hear them to the end.

    Raises:
        SpeechFailedError: the container says ``error``, or nothing for too long.
    """
    began = clock()
    first: float | None = None
    pcm = bytearray()
    for number, text in enumerate(texts):
        await client.send(json.dumps({"text": text, "voice": voice, "request_id": str(number)}).encode())
    missing = len(texts)
    try:
        async with asyncio.timeout(_LIMIT_S):
            while missing:
                data = await client.receive()
                message = _message(data)
                if message is None:
                    first = clock() if first is None else first
                    pcm += data
                elif message.get("type") == "error":
                    raise SpeechFailedError(f"the speech container answered with an error: {message.get('message')}")
                elif message.get("type") == "synthesis_complete":
                    missing -= 1
    except (TimeoutError, TypeError, SmithyError) as error:  # TypeError: something came in the place of a payload
        raise SpeechFailedError(f"the speech container did not speak to the end: {str(error) or 'silence'}") from error
    if first is None:
        raise SpeechFailedError("the speech container completed every text without any audio")
    return Heard(first - began, clock() - began, bytes(pcm))


def _message(data: bytes) -> dict[str, object] | None:
    """Return a control message: a payload that as a whole is a JSON object. None: it is audio."""
    if not data.startswith(b"{"):
        return None
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
