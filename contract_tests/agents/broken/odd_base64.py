"""Fault: each frame of the voice becomes base64 as it came. Seen in https://github.com/livekit/agents-js/issues/2068."""

from contract_tests.agents.good.standin import Standin, agent_app


class OddBase64(Standin):
    """Turn whose audio is cut where the voice cut it."""

    def whole(self, frame: bytes) -> bytes:
        """Return the frame."""
        return frame


app = agent_app(OddBase64)
