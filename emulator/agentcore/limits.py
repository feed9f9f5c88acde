"""The times of AgentCore's data plane."""

from dataclasses import dataclass

from emulator import facts

__all__ = ["AgentLimits"]


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The service's times, in seconds; a test shortens them."""

    request: float = facts.seconds("agent.request-limit")
    """Until the agent begins to answer."""
    stream: float = facts.seconds("agent.stream-limit")
    """From the request to the end of the answer."""
    idle: float = facts.seconds("agent.idle-limit")
    """Without a request, after which a session is forgotten."""
    ping: float = facts.seconds("life.ping-timeout")
    """For an answer of /ping."""
