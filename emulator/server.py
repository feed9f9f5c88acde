"""The emulator as a whole: asynchronous (:class:`Server`) or on a thread of its own (:class:`Emulator`)."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from emulator.certificates import Certificates
from emulator.dataplane import DataPlane
from emulator.endpoint import Endpoint
from emulator.http2 import Http2Connection
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry

__all__ = ["Emulator", "PortInUseError", "Server"]


class PortInUseError(Exception):
    """Raised when the emulator cannot listen where it was told to."""


class Server:
    """The emulator on the running event loop. Use it as an asynchronous context manager."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        *,
        switches: Switches | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        state_directory: Path | None = None,
        listener: Callable[[SessionTrace, TraceEntry], None] | None = None,
    ) -> None:
        self._switches = switches or Switches()
        self._host = host
        self._port = port
        self.certificates = Certificates.load(state_directory)
        self.data_plane = DataPlane(endpoints, self._switches, listener)
        self._connections: set[Http2Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The endpoint URL for SDKs."""
        return f"https://{self._host}:{self._port}"

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: Http2Connection(self.data_plane.serve, self._switches, self._connections),
                self._host,
                self._port,
                ssl=self.certificates.server_context(),
            )
        except OSError as error:
            raise PortInUseError(
                f"The emulator cannot listen on {self._host}:{self._port}: {error.strerror or error}.\n"
                "Another emulator may be running; choose another port with --port, or 0 for any free one."
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        await self.data_plane.shut_down()
        await asyncio.gather(*(connection.shut_down() for connection in list(self._connections)))


class Emulator:
    """The emulator on a thread with an event loop of its own: for tests, synchronous or not.

    ::

        with Emulator({"kokoro": Endpoint("http://127.0.0.1:8080")}) as emulator:
            os.environ |= emulator.environment
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        *,
        switches: Switches | None = None,
        port: int = 0,
        state_directory: Path | None = None,
    ) -> None:
        self._server = Server(endpoints, switches=switches, port=port, state_directory=state_directory)
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

    def trace(self, request_id: str) -> SessionTrace | None:
        """Return the wire log of one session by its ``x-amzn-requestid``."""
        return next((trace for trace in self.traces if trace.request_id == request_id), None)

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
        except PortInUseError as error:
            self._failure = error
        finally:
            self._ready.set()
