"""Servers under measurement, each a process of its own on a free port of 127.0.0.1."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

READY_S = 300


@dataclass(frozen=True)
class Kind:
    """A server to start: its name in tables, its module, and its environment."""

    name: str
    module: str = "container.kokoro"
    environment: dict[str, str] = field(default_factory=dict)


NAIVE = Kind("one request at a time, whole text", "container.kokoro.bench.naive", {"KOKORO_SPIN": "on"})
"""With ONNX Runtime's own defaults, as whoever writes such a server has them."""
OURS = Kind("this container")
OURS_BY_SENTENCE = Kind("this container, sentences only", environment={"KOKORO_FIRST_CLAUSE": "off"})


@dataclass(frozen=True)
class Running:
    """A server that answered /ping with 200."""

    kind: Kind
    port: int
    process: "subprocess.Popen[bytes]"
    ready_s: float
    """From the start of the process to the first 200."""

    @property
    def url(self) -> str:
        """Its address for HTTP."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def resident_mb(self) -> float:
        """Resident memory of the process in MB (Linux)."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@asynccontextmanager
async def running(kind: Kind, engine: str) -> AsyncGenerator[Running]:
    """Start a server, wait until it is ready, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", kind.module, "--port", str(port), "--engine", engine]
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: ASYNC220  # it only forks
            command, env={**os.environ, **kind.environment}, stdout=log, stderr=log
        )
        try:
            await _until_ready(process, port, log.fileno())
            yield Running(kind, port, process, time.monotonic() - begun)
        finally:
            process.terminate()
            try:
                await asyncio.to_thread(process.wait, 40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _until_ready(process: "subprocess.Popen[bytes]", port: int, log: int) -> None:
    deadline = time.monotonic() + READY_S
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=5) as http:
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                tail = os.pread(log, 1 << 20, 0).decode(errors="replace").splitlines()[-15:]
                raise RuntimeError("the server did not become ready:\n" + "\n".join(tail))
            try:
                if (await http.get("/ping")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
