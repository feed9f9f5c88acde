"""The agent's container on this machine: started as a command, waited for, and ended with the emulator."""

import asyncio
import contextlib
import re
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from emulator import facts
from emulator.controlplane.container import ContainerError, ContainerSpec, LocalCommand
from emulator.http1 import client
from emulator.http1.client import PeerError

__all__ = ["AgentStartError", "agent_command", "agent_container"]

_START_LIMIT = 180.0
_POLL = 0.1
_STOP_GRACE = 10.0
_EXPECTED = """\
expected one of
  agent                 the Strands agent of this repository
  MODULE:APP            an ASGI app such as a BedrockAgentCoreApp, served here (the current directory can be imported)
  COMMAND               a command that listens on the port {port}, as in 'python my_agent.py {port}'
  http://HOST:PORT      an agent's container that already runs"""


class AgentStartError(Exception):
    """Raised when an agent does not come up: what happened, its last words, what to do."""


def agent_command(given: str) -> str | None:
    """Return the command that ``--agent`` stands for, with ``{port}`` in it; None for an address.

    Raises:
        AgentStartError: it stands for nothing.
    """
    python = shlex.quote(sys.executable)
    if given == "agent":
        return f"{python} -m container.agent serve --host 127.0.0.1 --port {{port}}"
    if "{port}" in given:
        return given
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", given):
        return f"{python} -m uvicorn {given} --host 127.0.0.1 --port {{port}} --no-access-log"
    if given.startswith("http://"):
        return None
    raise AgentStartError(f"--agent {given!r}: that is no agent; {_EXPECTED}")


@contextlib.asynccontextmanager
async def agent_container(
    given: str,
    environment: Mapping[str, str],
    *,
    limit: float = _START_LIMIT,
    heard: Callable[[str], None] | None = None,
) -> AsyncIterator[str]:
    """Give the base address of an agent's container, once its ``/ping`` answers 200 where it is started here.

    ``given`` is what ``--agent`` names; ``environment`` is added to this process's own; ``limit`` is in seconds;
    ``heard`` gets each line that the agent writes.

    Raises:
        AgentStartError: it did not come up in time.
    """
    command = agent_command(given)
    if command is None:
        yield given
        return
    starting = asyncio.ensure_future(LocalCommand.start(command, ContainerSpec("the agent", environment), heard))
    try:
        process = await asyncio.shield(starting)
        await _healthy(process, command, limit)
        yield process.url
    except ContainerError as error:
        raise AgentStartError(str(error)) from error
    finally:
        await _to_the_end(_stop(starting))


async def _stop(starting: asyncio.Future[LocalCommand]) -> None:
    with contextlib.suppress(ContainerError):
        await (await starting).stop(_STOP_GRACE)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work that must not be left half done, also where the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _healthy(process: LocalCommand, command: str, limit: float) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    address = urlsplit(process.url)
    last = "it was never asked"
    while True:
        after = f"after {loop.time() - began:.1f} s"
        if (status := await process.exit_status()) is not None:
            raise await _failed(process, command, f"it exited with status {status} {after}, before /ping answered 200")
        if loop.time() - began > limit:
            raise await _failed(process, command, f"/ping did not answer 200 within {limit:g} s ({last})")
        try:
            async with (
                asyncio.timeout(facts.seconds("life.ping-timeout")),
                client.request(address.hostname or "", address.port or 0, "GET", facts.text("agent.ping"), []) as pong,
            ):
                if pong.status == 200:
                    return
                last = f"HTTP {pong.status}"
        except TimeoutError:
            last = "no answer"
        except PeerError as error:
            last = str(error)
        await asyncio.sleep(_POLL)  # another process: there is no event to wait for


async def _failed(process: LocalCommand, command: str, problem: str) -> AgentStartError:
    output = await process.output()
    said = f"last output\n{output}" if output else "it has written nothing"
    return AgentStartError(f"The agent did not come up: {problem}\ncommand  {command}\n{said}")
