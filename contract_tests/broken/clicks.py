"""Fault: the signal jumps where two frames meet. Seen in https://github.com/vllm-project/vllm-omni/pull/4706.

Each chunk is decoded by itself, without the state of the one before: here every second frame has the opposite phase.
"""

from collections.abc import Iterable

import numpy as np

from contract_tests.good.speech import Session, speech_app


class ClickingSession(Session):
    """Session whose decoder starts anew with each frame."""

    def frames(self, pcm: bytes) -> Iterable[bytes]:
        """Cut PCM, and lose the phase at each cut."""
        for number, frame in enumerate(super().frames(pcm)):
            yield frame if number % 2 == 0 else (-np.frombuffer(frame, "<i2")).astype("<i2").tobytes()


app = speech_app(ClickingSession)
