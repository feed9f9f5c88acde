"""Fault: base64 audio that has lost a byte. Seen in https://github.com/openai/openai-cookbook/pull/2977.

The first chunk is cut at a byte position and its half sample is thrown away; each message decodes to whole samples.
"""

from collections.abc import Iterator

from contract_tests.good.events import events_app
from contract_tests.good.realtime import RealtimeConversation


class ShiftedConversation(RealtimeConversation):
    """Session whose audio begins in the middle of a sample."""

    def pieces(self, text: str, voice: str) -> Iterator[bytes]:
        """Yield audio that is moved by one byte."""
        whole = b"".join(super().pieces(text, voice))
        yield from self.cut(whole[1:] + b"\0" if whole else b"")


app = events_app(ShiftedConversation)
