"""Endpoints: which container answers under which name."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from emulator import facts

__all__ = ["Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint with one production variant.

    ``container`` is the container's base address, ``http://HOST:PORT`` or ``ws://HOST:PORT``; without a port it is
    8080 (fact ``ctr.port``).
    """

    container: str
    variant: str = "AllTraffic"
    bidirectional: bool = True
    """Whether the image carries the label for bidirectional streaming; see switch ``missing_label``."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.container)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "ws") or not parts.hostname or port == -1 or parts.path not in ("", "/"):
            raise ValueError(
                f"{self.container!r} is no address of a container: expected http://HOST:PORT or ws://HOST:PORT, "
                "without a path (a client chooses the path with ModelInvocationPath)"
            )

    @property
    def host(self) -> str:
        """Host name or address of the container."""
        return urlsplit(self.container).hostname or ""

    @property
    def port(self) -> int:
        """TCP port of the container."""
        return urlsplit(self.container).port or facts.integer("ctr.port")
