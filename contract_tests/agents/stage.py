"""What stands around an agent in its checks: AgentCore, Bedrock and SageMaker by the emulator, and a scripted voice."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import httpx

from contract_tests.agents.voice import Voice
from contract_tests.plain import plain_http
from emulator import Endpoint, Switches
from emulator.agentcore.start import AgentStartError, agent_container
from emulator.bedrock.script import Script
from emulator.server import Server

__all__ = ["Stage", "staged"]

_ENDPOINT = "voice"
_AGENT = "under_test"
_ACCEPT_S = 4.0
"""Until a voice that does not answer the upgrade is HTTP 424; SageMaker waits for 0.25 s (``ctr.accept-250ms``).
Longer than a busy machine stands still, which would be the agent's fault otherwise."""
_CUT = 701
"""Bytes of the pieces in which the answer travels: they line up with nothing."""
_KEPT = 400
_START_S = 180.0
_ANSWERS_S = 5.0
_PING_S = 20.0
"""Until a session is refused because /ping gave no answer: CT22 judges /ping, by a limit of its own."""


@dataclass
class Stage:
    """An agent with all that it needs. ``url``: its own address; ``environment``: for a client of AgentCore."""

    voice: Voice
    endpoint: str = _ENDPOINT
    """Name of the endpoint that it speaks for."""
    url: str = ""
    arn: str = ""
    endpoint_url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    """The last lines that the agent wrote."""
    heard: int = 0
    """How many it wrote in all."""

    def hear(self, line: str) -> None:
        """Keep a line of the agent's output."""
        self.said.append(line)
        self.heard += 1

    def output(self, since: int) -> list[str]:
        """Return the lines that it wrote after the first ``since``, as far as they are kept."""
        new = min(self.heard - since, len(self.said))
        return list(self.said)[len(self.said) - new :] if new > 0 else []


@contextmanager
def staged(
    agent: str, script: Script, more: Mapping[str, str] | None = None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Stage]:
    """Start an agent and what is around it, on a thread of its own; afterwards all of it is gone.

    ``agent`` as ``--agent`` of ``emulator up`` names it; ``script`` is what its model answers; ``more``: variables of
    its own, in which ``{endpoint}`` becomes the name of the endpoint that speaks.

    Raises:
        AgentStartError: it did not come up.
    """
    stage = Stage(Voice())
    ready, stopping = threading.Event(), asyncio.Event()
    failure: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        switches = Switches(accept_timeout=_ACCEPT_S, agent_cut=_CUT)
        async with stage.voice.served():
            server = Server({_ENDPOINT: Endpoint(stage.voice.url)}, switches=switches, bedrock_script=script)
            server.agents.limits = replace(server.agents.limits, ping=_PING_S)
            async with server:
                stage.endpoint_url = server.url
                stage.environment = server.certificates.environment(server.url)
                own = {"SPEECH_ENDPOINT": _ENDPOINT} | {
                    name: value.replace("{endpoint}", _ENDPOINT) for name, value in (more or {}).items()
                }
                container = agent_container(agent, {**stage.environment, **own}, limit=_START_S, heard=stage.hear)
                async with container as stage.url:
                    await _answers(agent, stage.url)
                    stage.arn = server.agents.runtimes.put(_AGENT, stage.url)
                    ready.set()
                    await stopping.wait()

    def thread() -> None:
        try:
            asyncio.run(_until(run(), stopping, ready))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            failure.append(error)
        finally:
            ready.set()

    running = threading.Thread(target=thread, name="stage", daemon=True)
    running.start()
    try:
        tell(f"waiting for the agent {agent}")
        ready.wait()
        if failure:
            raise failure[0]
        yield stage
    finally:
        if loops and not loops[0].is_closed():
            loops[0].call_soon_threadsafe(stopping.set)
        running.join()


async def _answers(agent: str, url: str) -> None:
    """Look whether an agent that runs already is there; one that was started here has been waited for.

    Raises:
        AgentStartError: it is not.
    """
    if agent != url:
        return
    try:
        async with plain_http() as http:
            await http.get(f"{url}/ping", timeout=_ANSWERS_S)
    except httpx.HTTPError as error:
        raise AgentStartError(
            f"GET {url}/ping gave no answer ({type(error).__name__}); is the agent running?"
        ) from error


async def _until(work: Coroutine[None, None, None], stopping: asyncio.Event, ready: threading.Event) -> None:
    """Run to the end, also where somebody gives up who waits for the start."""
    task, stop = asyncio.create_task(work), asyncio.create_task(stopping.wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not ready.is_set():
        task.cancel()
    await asyncio.gather(stop, return_exceptions=True)
    await task
