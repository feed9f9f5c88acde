"""Fault: the declared rate is not the real one. Seen in https://github.com/AreevAI/flowcat/issues/10.

The constant comes from the previous voice (22,050 Hz), the samples from this one (24,000 Hz): whoever trusts it plays a
chipmunk, or waits for audio that has already ended.
"""

from contract_tests.good.speech import Session, speech_app

OLD_RATE = 22_050


class WrongDurationSession(Session):
    """Session that computes durations for another rate."""

    def duration_s(self, pcm: bytes, rate: int) -> float:  # noqa: ARG002  not looking at the rate is the fault
        """Return the duration at the rate of the old voice."""
        return len(pcm) / (2 * OLD_RATE)


app = speech_app(WrongDurationSession)
