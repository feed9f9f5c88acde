"""Bringing a target up: start it, wait for ``/ping``, and take it down again, whatever happens."""

import http
import http.client
import shlex
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, override

from emulator import facts, started
from emulator.process import Process
from emulator.target import Target, parse

__all__ = ["TargetError", "launched"]

_POLL_S = 0.1
_PING_TIMEOUT_S = facts.seconds("life.ping-timeout")
_CONTAINER_PORT = facts.integer("ctr.port")


class TargetError(Exception):
    """Raised when a target does not come up. Holds what happened, how it was started and its last words."""

    def __init__(
        self, target: Target, problem: str, advice: str, command: str = "", output: tuple[str, ...] = ()
    ) -> None:
        self.target = target
        self.problem = problem
        self.advice = advice
        self.command = command
        self.output = output
        super().__init__(target, problem)

    def __str__(self) -> str:
        lines = [f"The target cannot be judged: {self.problem}", "", f"target   {self.target}"]
        if self.command:
            lines.append(f"command  {self.command}")
            lines += ["", f"last output ({len(self.output)} lines)" if self.output else "it has written nothing"]
            lines += [f"  | {line}" for line in self.output]
        return "\n".join([*lines, "", f"what to do: {self.advice}"])


@contextmanager
def launched(
    target: Target | str, timeout: float | None = None, cwd: Path | None = None, *, echo: bool = False
) -> Iterator[str]:
    """Yield the base URL of the target once its ``/ping`` answers 200; afterwards everything started here is gone.

    ``target`` as ``--target`` names it, ``timeout`` in seconds (by default by its kind), ``cwd`` the directory whose
    modules can be imported (by default the current one); ``echo`` shows what a process of ours writes. Inside, the
    process can be killed and frozen by its URL (:mod:`emulator.started`).

    Raises:
        TargetError: it did not come up in time.
        TargetSyntaxError: the text names no target.
    """
    if isinstance(target, str):
        target = parse(target)
    timeout = target.start_timeout if timeout is None else timeout
    cwd = Path.cwd() if cwd is None else cwd
    if target.kind == "url":
        _wait(target, target.address, timeout)
        yield target.address
    elif target.kind == "image":
        with _image(target, timeout) as url:
            yield url
    else:
        port = _free_port()
        with Process.python(_arguments(target, port), cwd, echo=echo) as process:
            url = f"http://127.0.0.1:{port}"
            _wait(target, url, timeout, process)
            with _registered(url, process):
                yield url


def _arguments(target: Target, port: int) -> list[str]:
    if target.kind == "kokoro":
        return ["-m", "container.kokoro", "serve", "--host", "127.0.0.1", "--port", str(port)]
    if target.server == "hypercorn":
        return ["-m", "hypercorn", target.address, "--bind", f"127.0.0.1:{port}"]
    return ["-m", "uvicorn", target.address, "--host", "127.0.0.1", "--port", str(port), "--no-access-log"]


def _free_port() -> int:
    """Return a port that was free a moment ago; a target that loses the race exits at once and says why."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(target: Target, url: str, timeout: float, process: Process | None = None) -> None:
    deadline = time.monotonic() + timeout
    while True:
        if process is not None and process.exit_code is not None:
            _exited(target, process)
        last = _ping(url, min(_PING_TIMEOUT_S, max(timeout, _POLL_S)))
        if not last:
            return
        if time.monotonic() > deadline:
            _never_answered(target, url, timeout, last, process)
        time.sleep(_POLL_S)  # another process, another machine: there is no event to wait for


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    @override
    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def _ping(url: str, timeout: float) -> str:
    """Return what is wrong with the answer to ``/ping``, nothing if it is 200."""
    # no proxy of the environment: the container is here; and SageMaker follows no redirect
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        with opener.open(f"{url}{facts.text('life.ping')}", timeout=timeout) as answer:
            status: int = answer.status
    except urllib.error.HTTPError as error:
        with error:
            return f"HTTP {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
    return "" if status == http.HTTPStatus.OK else f"HTTP {status}"


def _command(process: Process) -> str:
    return shlex.join(process.command)


def _exited(target: Target, process: Process) -> NoReturn:
    seconds = time.monotonic() - process.began
    advice = (
        "install the engine with `uv sync --extra kokoro`; the lines above say what is missing."
        if target.kind == "kokoro"
        else "run the command by hand from the same directory. MODULE:APP must be importable from there."
    )
    raise TargetError(
        target,
        f"it exited with code {process.exit_code} after {seconds:.1f} s, before /ping answered",
        advice,
        _command(process),
        tuple(process.tail()),
    )


def _never_answered(target: Target, url: str, timeout: float, last: str, process: Process | None) -> NoReturn:
    if process is None:
        raise TargetError(
            target,
            f"{url}/ping did not answer 200 within {timeout:g} s ({last})",
            "start the container first, and check host and port; --start-timeout SECONDS waits longer.",
        )
    raise TargetError(
        target,
        f"it runs, but {url}/ping did not answer 200 within {timeout:g} s ({last})",
        "SageMaker wants GET /ping on the container's port to answer 200 once the model is loaded; "
        "add the route, or give a slow start more time with --start-timeout SECONDS.",
        _command(process),
        tuple(process.tail()),
    )


@contextmanager
def _image(target: Target, timeout: float) -> Iterator[str]:
    # imported here: it reads its settings from the environment when it is imported, and most runs need no engine
    command = f"docker run --publish {_CONTAINER_PORT} {target.address} serve"
    try:
        from docker.errors import DockerException  # noqa: PLC0415
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415
    except ImportError as error:
        raise TargetError(target, str(error), "install the extra 'contract', which brings testcontainers.") from None
    try:
        container = DockerContainer(target.address).with_exposed_ports(_CONTAINER_PORT).with_command("serve")
        container.start()
    except (DockerException, OSError) as error:
        raise TargetError(
            target,
            f"the container engine did not start it: {error}",
            "check that a container engine runs (`docker info`) and that the image exists (`docker image ls`).",
            command,
        ) from None
    try:
        url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(_CONTAINER_PORT)}"
        try:
            _wait(target, url, timeout)
        except TargetError as error:
            raise TargetError(target, error.problem, error.advice, command, _last_lines(container.get_logs)) from None
        with _registered(url, _Engine(container.get_wrapped_container())):
            yield url
    finally:
        container.stop()


@contextmanager
def _registered(url: str, handle: started.Handle) -> Iterator[None]:
    started.register(url, handle)
    try:
        yield
    finally:
        started.forget(url, handle)


class _Engine:
    """A container of the engine in the hands of the faults."""

    def __init__(self, container: Any) -> None:
        self._container = container

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


def _last_lines(logs: Callable[[], tuple[bytes, bytes]]) -> tuple[str, ...]:
    return tuple(b"".join(logs()).decode("utf-8", "replace").splitlines()[-20:])
