"""Servers under measurement, each a process of its own on a free port of 127.0.0.1, or one that runs already."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

READY_S = 300


@dataclass(frozen=True)
class Kind:
    """A server to start: its name in tables, its command without the port, and its environment."""

    name: str
    command: Sequence[str] = (sys.executable, "-W", "ignore", "-m", "container.kokoro")
    environment: dict[str, str] = field(default_factory=dict)
    engine: bool = True
    """Whether the command takes `--engine`."""


NAIVE = Kind(
    "one request at a time, whole text",
    (sys.executable, "-W", "ignore", "-m", "container.kokoro.bench.naive"),
    {"KOKORO_SPIN": "on", "KOKORO_SIGNED": "off"},
)
"""With the export as it is and ONNX Runtime's own defaults, as whoever writes such a server has them."""
WHOLE_TEXT = Kind("whole text before the first frame", NAIVE.command)
"""The same shape with this container's engine settings: beside it, only the shape makes a difference."""
OURS = Kind("this container")
OURS_BY_SENTENCE = Kind("this container, sentences only", environment={"KOKORO_FIRST_CLAUSE": "off"})


@dataclass(frozen=True)
class Running:
    """A server that answered /ping with 200."""

    name: str
    address: str
    """HOST:PORT."""
    open_s: float | None = None
    """From the start of the process until it answered at all; None when it was not started here."""
    ready_s: float | None = None
    """From the start of the process to the first 200."""
    pid: int | None = None

    @property
    def processor_s(self) -> float | None:
        """Processor time of the process so far, of all cores together (Linux); None where it is not known."""
        if self.pid is None:
            return None
        try:
            fields = (
                Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            )
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def url(self) -> str:
        """Its address for HTTP."""
        return f"http://{self.address}"


@asynccontextmanager
async def target(kind: Kind, engine: str, url: str | None = None) -> AsyncGenerator[Running]:
    """Start a server of this kind, or take the one at `url`. Raises RuntimeError when that is not ready."""
    if url is None:
        async with running(kind, engine) as server:
            yield server
        return
    address = url.split("://", 1)[-1].split("/", 1)[0]
    async with httpx.AsyncClient(timeout=10) as http:
        try:
            status = (await http.get(f"http://{address}/ping")).status_code
        except httpx.HTTPError as error:
            raise RuntimeError(f"nothing answers at {address}: {error}") from error
    if status != httpx.codes.OK:
        raise RuntimeError(f"{address}/ping answers {status}, expected 200: wait until it is ready")
    yield Running(address, address)


@asynccontextmanager
async def running(kind: Kind, engine: str) -> AsyncGenerator[Running]:
    """Start a server, wait until it is ready, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*kind.command, "--port", str(port), *(("--engine", engine) if kind.engine else ())]
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: ASYNC220  # it only forks
            command, env={**os.environ, **kind.environment}, stdout=log, stderr=log
        )
        try:
            opened = await _until_ready(process, port, log.fileno())
            yield Running(kind.name, f"127.0.0.1:{port}", opened - begun, time.monotonic() - begun, process.pid)
        finally:
            process.terminate()
            try:
                await asyncio.to_thread(process.wait, 40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _until_ready(process: "subprocess.Popen[bytes]", port: int, log: int) -> float:
    """Return the moment at which anything answered."""
    deadline = time.monotonic() + READY_S
    opened: float | None = None
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=5) as http:
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                tail = os.pread(log, 1 << 20, 0).decode(errors="replace").splitlines()[-15:]
                raise RuntimeError("the server did not become ready:\n" + "\n".join(tail))
            try:
                status = (await http.get("/ping")).status_code
                opened = time.monotonic() if opened is None else opened
                if status == httpx.codes.OK:
                    return opened
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
