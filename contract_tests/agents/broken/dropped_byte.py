"""Fault: the odd byte of a frame is thrown away. Seen in https://github.com/pipecat-ai/pipecat/pull/4952."""

from contract_tests.agents.good.standin import Standin, agent_app


class DroppedByte(Standin):
    """Turn whose audio is moved by a byte behind each odd frame."""

    def whole(self, frame: bytes) -> bytes:
        """Return whole samples, and forget the rest."""
        return frame[: len(frame) // 2 * 2]


app = agent_app(DroppedByte)
