"""Bringing a target up: start it, wait for ``/ping``, and take it down again, whatever happens."""

import http
import http.client
import os
import shlex
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import NoReturn

from emulator import facts, started
from emulator.process import Process
from emulator.running import Elsewhere, EngineContainer, LocalProcess, Running
from emulator.target import Target, parse

__all__ = ["TargetError", "launched", "ping_problem", "running", "starting"]

_POLL_S = 0.1
_LAST_LINES = 20
# seconds of silence until the user is told what is waited for, and until he is told again
_PATIENCE_S = 3.0
_REMINDER_S = 15.0
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
        lines = [f"The target did not come up: {self.problem}", "", f"target   {self.target}"]
        if self.command:
            lines.append(f"command  {self.command}")
            lines += ["", f"last output ({len(self.output)} lines)" if self.output else "it has written nothing"]
            lines += [f"  | {line}" for line in self.output]
        return "\n".join([*lines, "", f"what to do: {self.advice}"])


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def launched(
    target: Target | str,
    timeout: float | None = None,
    cwd: Path | None = None,
    *,
    echo: bool = False,
    tell: Callable[[str], None] = _to_stderr,
) -> Iterator[str]:
    """Yield the base URL of the target once its ``/ping`` answers 200; afterwards everything started here is gone.

    ``target`` as ``--target`` names it, ``timeout`` in seconds (by default by its kind), ``cwd`` the directory whose
    modules can be imported (by default the current one); ``echo`` shows what a process of ours writes; ``tell`` is told
    what is waited for, when it takes long. Inside, the process can be killed and frozen by its URL
    (:mod:`emulator.started`).

    Raises:
        TargetError: it did not come up in time.
        TargetSyntaxError: the text names no target.
    """
    with running(target, timeout, cwd, echo=echo, tell=tell) as up:
        yield up.url


@contextmanager
def running(
    target: Target | str,
    timeout: float | None = None,
    cwd: Path | None = None,
    *,
    echo: bool = False,
    tell: Callable[[str], None] = _to_stderr,
) -> Iterator[Running]:
    """Yield the target itself, as :func:`launched` yields its address."""
    if isinstance(target, str):
        target = parse(target)
    timeout = target.start_timeout if timeout is None else timeout
    with starting(target, cwd, echo=echo) as up:
        _wait(target, up, timeout, tell)
        handle = up.process if isinstance(up, LocalProcess) else up if isinstance(up, EngineContainer) else None
        with _registered(up.url, handle) if handle is not None else nullcontext():
            yield up


@contextmanager
def starting(target: Target, cwd: Path | None = None, *, echo: bool = False) -> Iterator[Running]:
    """Start a target without waiting for its ``/ping``; afterwards it is gone.

    Raises:
        TargetError: it cannot even be started.
    """
    if target.kind == "url":
        yield Elsewhere(target.address)
    elif target.kind == "image":
        with _image(target) as up:
            yield up
    else:
        port = _free_port()
        command = _command(target, port)
        try:
            child = Process(command, Path.cwd() if cwd is None else cwd, echo=echo)
        except OSError as error:
            raise TargetError(
                target,
                f"it cannot be started: {error.strerror or error}",
                "check that the program exists and may be executed.",
                shlex.join(command),
            ) from None
        with child as process:
            yield LocalProcess(f"http://127.0.0.1:{port}", shlex.join(process.command), process)


def _command(target: Target, port: int) -> list[str]:
    if target.kind == "command":
        return [word.replace("{port}", str(port)) for word in shlex.split(target.address)]
    if target.kind == "kokoro":
        module = ["container.kokoro", "serve", "--host", "127.0.0.1", "--port", str(port)]
    elif target.server == "hypercorn":
        module = ["hypercorn", target.address, "--bind", f"127.0.0.1:{port}"]
    else:
        module = ["uvicorn", target.address, "--host", "127.0.0.1", "--port", str(port), "--no-access-log"]
    python = [sys.executable, "-m", *module]
    if not target.folder:
        return python
    path = os.pathsep.join(filter(None, [target.folder, os.environ.get("PYTHONPATH")]))
    return ["env", f"PYTHONPATH={path}", *python]


def _free_port() -> int:
    """Return a port that was free a moment ago; a target that loses the race exits at once and says why."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(target: Target, up: Running, timeout: float, tell: Callable[[str], None]) -> None:
    began = time.monotonic()
    told = began + _PATIENCE_S
    while True:
        code = up.exit_code()
        if code is not None:
            _exited(target, up, code, time.monotonic() - began)
        last = ping_problem(up.url, min(_PING_TIMEOUT_S, max(timeout, _POLL_S)))
        if not last:
            return
        if time.monotonic() > began + timeout:
            _never_answered(target, up, timeout, last)
        if time.monotonic() > told:
            told += _REMINDER_S
            waited = time.monotonic() - began
            tell(f"Waiting for {up.url}/ping to answer 200: {last}; {waited:.0f} s of at most {timeout:g} s.")
        time.sleep(_POLL_S)  # another process, another machine: there is no event to wait for


@cache
def _plain_http() -> urllib.request.OpenerDirector:
    """Return what asks as SageMaker does: it follows no redirect, and no proxy of the environment comes between.

    What urllib makes by itself can TLS too, and reads the certificate store for it.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def ping_problem(url: str, timeout: float) -> str:
    """Return what is wrong with the answer to ``/ping``, nothing if it is 200."""
    try:
        with _plain_http().open(f"{url}{facts.text('life.ping')}", timeout=timeout) as answer:
            status: int = answer.status
    except urllib.error.HTTPError as error:
        with error:
            return f"HTTP {error.code}"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)) or type(error).__name__
    return "" if status == http.HTTPStatus.OK else f"HTTP {status}"


def _exited(target: Target, up: Running, code: int, seconds: float) -> NoReturn:
    advice = {
        "kokoro": "install the engine with `uv sync --extra kokoro`; the lines above say what is missing.",
        "image": "run the command by hand; SageMaker starts an image with the argument 'serve'.",
        "command": "run the command by hand from the same directory.",
    }.get(target.kind, "run the command by hand from the same directory. MODULE:APP must be importable from there.")
    problem = f"it exited with code {code} after {seconds:.1f} s, before /ping answered"
    raise TargetError(target, problem, advice, up.command, _tail(up))


def _never_answered(target: Target, up: Running, timeout: float, last: str) -> NoReturn:
    if not up.ours:
        raise TargetError(
            target,
            f"{up.url}/ping did not answer 200 within {timeout:g} s ({last})",
            "start the container first, and check host and port; --start-timeout SECONDS waits longer.",
        )
    raise TargetError(
        target,
        f"it runs, but {up.url}/ping did not answer 200 within {timeout:g} s ({last})",
        "SageMaker wants GET /ping on the container's port to answer 200 once the model is loaded; "
        "add the route, or give a slow start more time with --start-timeout SECONDS.",
        up.command,
        _tail(up),
    )


def _tail(up: Running) -> tuple[str, ...]:
    if isinstance(up, LocalProcess):
        return tuple(up.process.tail(_LAST_LINES))
    return tuple(up.output()[-_LAST_LINES:])


@contextmanager
def _image(target: Target) -> Iterator[EngineContainer]:
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
        yield EngineContainer(url, command, container.get_wrapped_container())
    finally:
        container.stop()


@contextmanager
def _registered(url: str, handle: started.Handle) -> Iterator[None]:
    started.register(url, handle)
    try:
        yield
    finally:
        started.forget(url, handle)
