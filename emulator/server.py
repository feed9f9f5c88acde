"""The emulator as a whole: asynchronous (:class:`Server`) or on a thread of its own (:class:`Emulator`)."""

import asyncio
import contextlib
import errno
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from emulator import started
from emulator.admin import Admin
from emulator.agentcore.runtimes import AgentRuntimes
from emulator.agentcore.service import AgentPlane
from emulator.bedrock.script import Script
from emulator.bedrock.service import Bedrock
from emulator.certificates import Certificates
from emulator.controlplane.agents import AgentSupervisor
from emulator.controlplane.plane import ControlPlane
from emulator.controlplane.startup import Lifecycle
from emulator.dataplane import DataPlane
from emulator.endpoint import Endpoint
from emulator.fault_settings import FaultSettings
from emulator.front import AlpnSwitch, Router
from emulator.http1.invoke import Invoker
from emulator.http1.server import Http1Connections
from emulator.http2 import Http2Connection
from emulator.registry import Registry
from emulator.started import ProcessFault
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry
from emulator.wire.faults import Faults

__all__ = ["Emulator", "PortInUseError", "Server"]


_LAST_PORT = 65_535


def _dialled(host: str) -> str:
    """Return how a URL names the address that a server listens on: all addresses can't be dialled, one of them can."""
    reached = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # not bound here
    return f"[{reached}]" if ":" in reached else reached


def _hint(error: OSError, option: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Another emulator may be running; choose another port with {option}, or 0 for any free one."
        case errno.EACCES:
            return f"Ports under 1024 are for the system; choose another with {option}, or 0 for any free one."
        case _:
            return "--host is an address of this machine: 127.0.0.1 for its own programs, 0.0.0.0 for others too."


class PortInUseError(Exception):
    """Raised when the emulator cannot listen where it was told to."""


class Server:
    """The emulator on the running event loop. Use it as an asynchronous context manager."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint] | None = None,
        *,
        switches: Switches | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        http_port: int | None = None,
        local_images: Mapping[str, str] | None = None,
        lifecycle: Lifecycle | None = None,
        state_directory: Path | None = None,
        listener: Callable[[SessionTrace, TraceEntry], None] | None = None,
        faults: Faults | None = None,
        fault_seed: int = 0,
        variant_seed: int = 0,
        keep_traces: bool = True,
        bedrock_script: Script | None = None,
        agents: Mapping[str, str] | None = None,
    ) -> None:
        for option, given in (("port", port), ("http_port", http_port)):
            if given is not None and not 0 <= given <= _LAST_PORT:
                raise ValueError(f"{option} is {given}; expected is 0 (any free one) to {_LAST_PORT}")
        self._switches = switches or Switches()
        self._host = host
        self._port = port
        self.certificates = Certificates.load(state_directory)
        self.registry = Registry(endpoints, variant_seed)
        self.faults = FaultSettings(faults, fault_seed)
        self.data_plane = DataPlane(self.registry, self._switches, listener, self.faults, keep_traces=keep_traces)
        runtimes = AgentRuntimes(agents)
        started_agents = AgentSupervisor(
            runtimes, dict(local_images or {}), lambda: self.certificates.environment(self.url)
        )
        self.control_plane = ControlPlane(self.registry, local_images, lifecycle, started_agents)
        self._invoker = Invoker(self.registry, self._switches, self.data_plane.traces)
        self.bedrock = Bedrock(self._switches, bedrock_script)
        self.admin = Admin(self.registry, self.data_plane, self.faults)
        self.agents = AgentPlane(runtimes, self._switches)
        self._router = Router(
            self.data_plane, self._invoker, self.bedrock, self.agents, self.admin, self.control_plane.serve
        )
        self._http1 = Http1Connections(self._router.http1)
        self._connections: set[Http2Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._http_port = http_port

    @property
    def url(self) -> str:
        """The endpoint URL for SDKs."""
        return f"https://{_dialled(self._host)}:{self._port}"

    @property
    def http_url(self) -> str | None:
        """The same over plain HTTP/1.1, for programs that take no private authority; None where it was not asked for.

        Bidirectional streams need TLS: they are on :attr:`url` only.
        """
        return None if self._http_port is None else f"http://{_dialled(self._host)}:{self._http_port}"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            self._port = await self._listen(
                loop.create_server(
                    lambda: AlpnSwitch(self._http2_connection, self._http1.protocol),
                    self._host,
                    self._port,
                    ssl=self.certificates.server_context(self._host),
                ),
                self._port,
                "--port",
            )
            if self._http_port is not None:
                self._http_port = await self._listen(
                    loop.create_server(self._http1.protocol, self._host, self._http_port),
                    self._http_port,
                    "--http-port",
                )
        except PortInUseError:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        self._invoker.stop()
        self.bedrock.stop()
        self.agents.stop()
        self._http1.close_idle()
        await self.data_plane.shut_down()
        await asyncio.gather(*(connection.shut_down() for connection in list(self._connections)))
        await self._http1.shut_down()
        await self.control_plane.shut_down()

    async def _listen(self, starting: Coroutine[Any, Any, asyncio.Server], port: int, option: str) -> int:
        try:
            server = await starting
        except OSError as error:
            raise PortInUseError(
                f"The emulator cannot listen on {self._host}:{port}: {error.strerror or error}.\n{_hint(error, option)}"
            ) from error
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    def _http2_connection(self) -> Http2Connection:
        return Http2Connection(self._router.http2, self._switches, self._connections)


class Emulator:
    """The emulator on a thread with an event loop of its own: for tests, synchronous or not.

    ::

        with Emulator({"kokoro": Endpoint("http://127.0.0.1:8080")}) as emulator:
            os.environ |= emulator.environment
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint] | None = None,
        *,
        switches: Switches | None = None,
        port: int = 0,
        http_port: int | None = None,
        local_images: Mapping[str, str] | None = None,
        lifecycle: Lifecycle | None = None,
        state_directory: Path | None = None,
        faults: Faults | None = None,
        fault_seed: int = 0,
        variant_seed: int = 0,
        bedrock_script: Script | None = None,
        agents: Mapping[str, str] | None = None,
    ) -> None:
        self._server = Server(
            endpoints,
            switches=switches,
            port=port,
            http_port=http_port,
            local_images=local_images,
            lifecycle=lifecycle,
            state_directory=state_directory,
            faults=faults,
            fault_seed=fault_seed,
            variant_seed=variant_seed,
            bedrock_script=bedrock_script,
            agents=agents,
        )
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="emulator", daemon=True)

    @property
    def url(self) -> str:
        """The endpoint URL for SDKs."""
        return self._server.url

    @property
    def http_url(self) -> str | None:
        """The same over plain HTTP/1.1, for programs that take no private authority."""
        return self._server.http_url

    @property
    def ca_bundle(self) -> Path:
        """PEM file with the system's authorities and the local one, for ``SSL_CERT_FILE``."""
        return self._server.certificates.bundle

    @property
    def environment(self) -> dict[str, str]:
        """The variables that each SDK needs."""
        return self._server.certificates.environment(self.url)

    @property
    def traces(self) -> list[SessionTrace]:
        """The wire logs of all sessions, oldest first."""
        return list(self._server.data_plane.traces)

    def agent_arn(self, name: str) -> str:
        """Return the ARN of an agent's runtime, for ``invoke_agent_runtime``; ``agents`` gave its container.

        Raises:
            LookupError: there is no such agent.
        """
        runtimes = self._server.agents.runtimes
        if runtimes.id(name) not in runtimes:
            raise LookupError(f"this emulator has no agent {name!r}; it has: {', '.join(runtimes) or 'none'}")
        return runtimes.arn(name)

    def notes(self, name: str) -> list[str]:
        """What SageMaker would trip over in the container of an endpoint that was created with boto3."""
        return self._server.control_plane.notes(name)

    def trace(self, request_id: str) -> SessionTrace | None:
        """Return the wire log of one session by its ``x-amzn-requestid``."""
        return next((trace for trace in self.traces if trace.request_id == request_id), None)

    def set_faults(
        self,
        faults: Faults | None,
        *,
        endpoint: str | None = None,
        seed: int | None = None,
        sessions: int | None = None,
    ) -> None:
        """Let new sessions, of one endpoint or of all that have no faults of their own, go wrong like this.

        May be called from any thread; sessions that are open keep what they have. None takes the setting back. With
        ``sessions``, only the next ones, so many, are meant.
        """
        if sessions is None or faults is None:
            self._server.faults.set(faults, endpoint, seed)
        else:
            self._server.faults.set_once(faults, endpoint, seed, sessions)

    def cut(self, request_id: str) -> bool:
        """End a session now, as at the end of its longest duration; False where none of that id is open."""
        if self._loop is None:
            return False
        return asyncio.run_coroutine_threadsafe(self._server.data_plane.cut(request_id), self._loop).result()

    def process_fault(self, endpoint: str, fault: ProcessFault, variant: str | None = None) -> None:
        """Kill, freeze or resume the container of an endpoint, or let its /ping fail or heal. Any thread.

        Raises:
            LookupError: no such endpoint or variant, or (:exc:`NotStartedError`) it was not started by this process:
                use :func:`emulator.launched` or ``create_endpoint``; or nobody asks for its /ping.
        """
        started.apply(self._server.registry.variant(endpoint, variant).container, fault)

    def play_bedrock(self, script: Script) -> None:
        """Let the model of Bedrock Runtime answer new requests like this. May be called from any thread."""
        self._server.bedrock.play(script)

    @contextlib.contextmanager
    def faulty(self, faults: Faults, *, endpoint: str | None = None, seed: int | None = None) -> Iterator[None]:
        """Let sessions that are opened inside go wrong like this; what was set before comes back at the end."""
        with self._server.faults.override(faults, endpoint, seed):
            yield

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            async with self._server:
                self._ready.set()
                await self._stopping.wait()
        except Exception as error:
            if self._ready.is_set():
                raise
            self._failure = error  # for whoever waits in __enter__
        finally:
            self._ready.set()
