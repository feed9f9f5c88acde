"""A target that has been started, or that runs elsewhere: its address, its output, and its end."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, override

from emulator.process import Process

__all__ = ["Elsewhere", "EngineContainer", "LocalProcess", "Running"]


class Running:
    """A target with its base ``url``. ``command``: how it was started, empty where it was not started by us.

    ``terminate()`` and ``exit_code()`` are only of use where it was.
    """

    def __init__(self, url: str, command: str) -> None:
        self.url = url
        self.command = command

    @property
    def ours(self) -> bool:
        """Whether it was started by this process, so that it can be ended by it and its output is known."""
        return bool(self.command)

    def written(self) -> int:
        """Return how many lines it has written so far."""
        return 0

    def output(self, since: int = 0) -> list[str]:  # noqa: ARG002 - nothing is known of what is not ours
        """Return the lines that it wrote after the first ``since``, as far as they are kept."""
        return []

    def terminate(self) -> None:
        """Send SIGTERM to its first process, as a container engine does."""

    def exit_code(self) -> int | None:
        """Return its exit code, None while it runs."""
        return None


class Elsewhere(Running):
    """A container that somebody else has started."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "")


class LocalProcess(Running):
    """A child process."""

    def __init__(self, url: str, command: str, process: Process) -> None:
        super().__init__(url, command)
        self.process = process

    @override
    def written(self) -> int:
        return self.process.written

    @override
    def output(self, since: int = 0) -> list[str]:
        return self.process.lines(since)

    @override
    def terminate(self) -> None:
        self.process.terminate()

    @override
    def exit_code(self) -> int | None:
        return self.process.exit_code


class EngineContainer(Running):
    """A container of the engine; ``container`` is the docker SDK's object. It can be killed and frozen as well."""

    def __init__(self, url: str, command: str, container: Any) -> None:
        super().__init__(url, command)
        self._container = container
        self._lock = threading.Lock()

    @override
    def written(self) -> int:
        return len(self._all())

    @override
    def output(self, since: int = 0) -> list[str]:
        return self._all()[since:]

    def _all(self) -> list[str]:
        with self._lock:
            return bytes(self._container.logs()).decode("utf-8", "replace").splitlines()

    @override
    def terminate(self) -> None:
        self._unless_gone(lambda: self._container.kill(signal.SIGTERM))

    @override
    def exit_code(self) -> int | None:
        with self._lock:
            self._container.reload()
            state = self._container.attrs["State"]
        return None if state["Running"] else int(state["ExitCode"])

    def kill(self) -> None:
        """``docker kill``."""
        self._unless_gone(self._container.kill)

    def freeze(self) -> None:
        """``docker pause``."""
        self._unless_gone(self._container.pause)

    def resume(self) -> None:
        """``docker unpause``."""
        self._unless_gone(self._container.unpause)

    def _unless_gone(self, act: Callable[[], object]) -> None:
        from docker.errors import APIError  # noqa: PLC0415

        with suppress(APIError):  # it has ended, or is in that state already
            act()
