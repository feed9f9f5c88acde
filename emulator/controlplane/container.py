"""Containers as the control plane sees them: an image of the Docker engine, or a local command in its place."""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, override

__all__ = ["Container", "ContainerError", "ContainerSpec", "LocalCommand"]

_KEPT_LINES = 40


class ContainerError(Exception):
    """Raised when a container cannot even be started."""


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """What to run: the image of a model with its environment."""

    image: str
    environment: Mapping[str, str]


class Container(Protocol):
    """A running container."""

    url: str
    """Where its port 8080 can be reached."""
    bidirectional: bool
    """Whether its image has the label for bidirectional streaming."""
    notes: list[str]
    """What SageMaker would trip over, though the container may run here."""

    async def exit_status(self) -> int | None:
        """Return the exit status, None while it runs."""

    async def output(self) -> str:
        """Return the last lines that it wrote."""

    async def stop(self, grace: float) -> bool:
        """Stop it with SIGTERM, after ``grace`` seconds with SIGKILL; False where that was needed."""

    def kill(self) -> None:
        """End it at once (a fault on demand, as the two below)."""

    def freeze(self) -> None:
        """Stop it where it is."""

    def resume(self) -> None:
        """Let it go on."""


class LocalCommand(Container):
    """A command on this machine in the place of an image. It is taken to carry the label."""

    def __init__(
        self, process: asyncio.subprocess.Process, port: int, heard: Callable[[str], None] | None = None
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.bidirectional = True
        self.notes: list[str] = []
        self._process = process
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._heard = heard
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(
        cls, command: str, spec: ContainerSpec, heard: Callable[[str], None] | None = None
    ) -> "LocalCommand":
        """Run ``command``; ``{port}`` in it becomes the port to listen on, as does ``$SAGEMAKER_BIND_TO_PORT``.

        ``heard`` gets each line that it writes.

        Raises:
            ContainerError: it cannot be run.
        """
        port = _free_port()
        try:
            arguments = [word.replace("{port}", str(port)) for word in shlex.split(command)]
            process = await asyncio.create_subprocess_exec(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, "SAGEMAKER_BIND_TO_PORT": str(port), **spec.environment},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ContainerError(f"the local command for {spec.image} cannot be run: {command!r}: {error}") from error
        return cls(process, port, heard)

    @override
    async def exit_status(self) -> int | None:
        return self._process.returncode

    @override
    async def output(self) -> str:
        if self._process.returncode is not None:  # what it wrote last is still in the pipe
            await asyncio.wait({self._reading}, timeout=1)
        return "\n".join(self._lines)

    @override
    async def stop(self, grace: float) -> bool:
        in_time = True
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()  # as in a container, its first process alone
            self._signal(signal.SIGCONT)  # a frozen one would not see it
            try:
                async with asyncio.timeout(grace):
                    await self._process.wait()
            except TimeoutError:
                in_time = False
        # as in a container, the children end with the first process
        self._signal(signal.SIGKILL)
        await self._process.wait()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        return in_time

    @override
    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    @override
    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    @override
    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        # PermissionError: macOS says so for a group of zombies
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  # a pipe was asked for
        rest = b""
        while data := await self._process.stdout.read(4096):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._keep(line)
            rest = rest[-4096:]
        if rest:
            self._keep(rest)

    def _keep(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self._lines.append(text)
        if self._heard is not None:
            self._heard(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
