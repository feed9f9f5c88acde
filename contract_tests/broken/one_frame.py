"""Fault: one frame for the whole clip. Seen in https://github.com/elevenlabs/elevenlabs-python/pull/482.

Short sentences fit everywhere. The first long one is a message of more than 1 MiB, and the client's library ends the
connection with 1009 in the middle of the conversation.
"""

from collections.abc import Iterable

from contract_tests.good.speech import Session, speech_app


class OneFrameSession(Session):
    """Session that sends all of it at once."""

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut nothing."""
        return [pcm] if pcm else []


app = speech_app(OneFrameSession)
