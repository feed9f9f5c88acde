"""The containers that this process has started, by their address: what can be killed, frozen and called unhealthy.

A container that runs elsewhere (``--target http://...``) is not here: it is not the emulator's to end.
"""

import threading
from typing import Literal, Protocol
from urllib.parse import urlsplit

__all__ = [
    "PROCESS_FAULTS",
    "Handle",
    "NotStartedError",
    "NotWatchedError",
    "ProcessFault",
    "apply",
    "forget",
    "ping_fails",
    "register",
    "state",
]

ProcessFault = Literal["kill", "freeze", "resume", "ping-fails", "ping-heals"]
PROCESS_FAULTS: dict[str, str] = {
    "kill": "SIGKILL, or `docker kill`",
    "freeze": "SIGSTOP, or `docker pause`",
    "resume": "SIGCONT, or `docker unpause`",
    "ping-fails": "every answer to /ping counts as a failure, until ping-heals",
    "ping-heals": "answers to /ping count again",
}


class Handle(Protocol):
    """Takes hold of a container. Each method may block for a moment, and does nothing where the container is gone."""

    def kill(self) -> None:
        """End it at once, with everything that it has started."""

    def freeze(self) -> None:
        """Stop it where it is."""

    def resume(self) -> None:
        """Let it go on."""


class NotStartedError(LookupError):
    """Raised when a container was not started by this process."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url

    def __str__(self) -> str:
        return (
            f"the container at {self.url} was not started by this emulator, so it cannot be killed or frozen by it. "
            "Start it with --target MODULE:APP, image:NAME or kokoro, with emulator.launched(), or with create_endpoint"
        )


class NotWatchedError(NotStartedError):
    """Raised when nobody asks for a container's /ping, so that its failing would be no fault."""

    def __str__(self) -> str:
        return (
            f"nobody watches /ping of the container at {self.url}: that is done for those of create_endpoint, which "
            "are replaced when it fails"
        )


class _Entry:
    def __init__(self, handle: Handle, *, watched: bool) -> None:
        self.handle = handle
        self.watched = watched
        self.state = "running"
        self.ping_fails = False


_lock = threading.Lock()
_entries: dict[tuple[str | None, int | None], _Entry] = {}


def register(url: str, handle: Handle, *, watched: bool = False) -> None:
    """Note that the container at ``url`` was started here; ``watched``: its /ping is asked for while it runs."""
    with _lock:
        _entries[_key(url)] = _Entry(handle, watched=watched)


def forget(url: str, handle: Handle) -> None:
    """Note that it is gone; nothing happens where another one has taken its address."""
    with _lock:
        entry = _entries.get(_key(url))
        if entry is not None and entry.handle is handle:
            del _entries[_key(url)]


def state(url: str) -> str | None:
    """Return ``running``, ``frozen`` or ``killed``, as was asked for; None for a container that is not ours."""
    entry = _entries.get(_key(url))
    return None if entry is None else entry.state


def ping_fails(url: str) -> bool:
    """Whether the answers of this container to /ping count as failures."""
    entry = _entries.get(_key(url))
    return entry is not None and entry.ping_fails


def apply(url: str, fault: ProcessFault) -> None:
    """Bring a fault about. May block for a moment.

    Raises:
        NotStartedError: the container was not started here.
        NotWatchedError: its /ping is to fail, but nobody asks for it.
    """
    entry = _entries.get(_key(url))
    if entry is None:
        raise NotStartedError(url)
    match fault:
        case "kill":
            entry.handle.kill()
            entry.state = "killed"
        case "freeze":
            entry.handle.freeze()
            entry.state = "frozen"
        case "resume":
            entry.handle.resume()
            entry.state = "running"
        case "ping-fails" | "ping-heals":
            if not entry.watched:
                raise NotWatchedError(url)
            entry.ping_fails = fault == "ping-fails"


def _key(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port
