"""Agent runtimes: which container answers under which id."""

import re
from collections.abc import Iterator, Mapping
from typing import override
from urllib.parse import urlsplit

from emulator import credentials, facts
from emulator.agentcore.request import AgentRequest, unknown

__all__ = ["ACCOUNT", "AgentRuntimes"]

ACCOUNT = "000000000000"
_SUFFIX = "emulator01"  # AWS draws ten characters at random


class AgentRuntimes(Mapping[str, str]):
    """The base addresses of containers, ``http://HOST:PORT``, by the runtime's id (``<name>-<ten characters>``)."""

    def __init__(self, agents: Mapping[str, str] | None = None) -> None:
        self._containers: dict[str, str] = {}
        for name, container in (agents or {}).items():
            self.put(name, container)

    @override
    def __getitem__(self, agent: str) -> str:
        return self._containers[agent]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._containers)

    @override
    def __len__(self) -> int:
        return len(self._containers)

    def put(self, name: str, container: str) -> str:
        """Serve a container under a name from now on; returns the ARN.

        Raises:
            ValueError: the name or the address cannot be one.
        """
        if not re.fullmatch(facts.text("agent.name"), name):
            raise ValueError(
                f"{name!r} is no name of an agent: a letter, then letters, digits and '_', at most 48 in all"
            )
        parts = urlsplit(container)
        try:
            good = parts.scheme == "http" and parts.hostname and parts.port and parts.path in ("", "/")
        except ValueError:
            good = False
        if not good:
            raise ValueError(f"{container!r} is no address of an agent's container: expected is http://HOST:PORT")
        self._containers[self.id(name)] = container.rstrip("/")
        return self.arn(name)

    def remove(self, name: str) -> None:
        """Serve a name no longer."""
        self._containers.pop(self.id(name), None)

    @staticmethod
    def id(name: str) -> str:
        """Return the runtime's id."""
        return f"{name}-{_SUFFIX}"

    @classmethod
    def arn(cls, name: str) -> str:
        """Return the ARN that a client passes; any region in it is accepted."""
        return f"arn:aws:bedrock-agentcore:{credentials.REGION}:{ACCOUNT}:runtime/{cls.id(name)}"

    def find(self, request: AgentRequest) -> str:
        """Return the address of the container that is asked for.

        Raises:
            RequestError: there is no such agent, or it has no such endpoint.
        """
        container = self._containers.get(request.agent)
        if container is None or request.account != ACCOUNT or request.qualifier != facts.text("agent.qualifier"):
            raise unknown(request, self._containers)
        return container
