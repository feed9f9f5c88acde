"""Fault: a sentence is lost in the middle of a text. Seen in https://github.com/remsky/Kokoro-FastAPI/issues/343.

The text is spoken in pieces, and where two of them fit into one call the second one is never added.
"""

from contract_tests.good.speech import speech_app
from contract_tests.good.spoken import SpokenSession

FULL = 4


class SkippedSentenceSession(SpokenSession):
    """Session that loses the sentence which would not have fitted."""

    def sentences(self, text: str) -> list[str]:
        """Begin the next call with the sentence behind the one that was too much."""
        parts = super().sentences(text)
        return [*parts[: FULL - 1], *parts[FULL:]]


app = speech_app(SkippedSentenceSession)
