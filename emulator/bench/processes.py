"""The processes of the benchmarks: container, emulator, and the server that it is compared with."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emulator.bench.peer import CONTAINER
from emulator.certificates import Certificates

__all__ = ["Running", "container", "emulator", "hypercorn"]


@dataclass(frozen=True, slots=True)
class Running:
    """A process that listens at ``url``."""

    url: str
    pid: int

    @property
    def resident_mib(self) -> float | None:
        """Memory in MiB, None where the system does not tell."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return None
        kib = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")), None)
        return int(kib) / 1024 if kib is not None else None


@contextlib.contextmanager
def container() -> Iterator[Running]:
    """Run the echo container."""
    port = _free_port()
    arguments = ["emulator.bench.container:app", "--log-level", "warning", "--ws-per-message-deflate", "false"]
    with _listening(port, "uvicorn", *arguments, "--host", "127.0.0.1", "--port", str(port)) as pid:
        yield Running(f"ws://127.0.0.1:{port}", pid)


@contextlib.contextmanager
def emulator(target: str, state: Path, *switches: str) -> Iterator[Running]:
    """Run the emulator with the endpoint ``bench`` in front of ``target``."""
    port = _free_port()
    arguments = ["up", "--target", target, "--endpoint", "bench", "--port", str(port), "--state-dir", str(state)]
    with _listening(port, "emulator", *arguments, *switches) as pid:
        yield Running(f"https://127.0.0.1:{port}", pid)


@contextlib.contextmanager
def hypercorn(target: str, certificates: Certificates, state: Path) -> Iterator[Running]:
    """Run the relay on hypercorn in front of ``target``."""
    port = _free_port()
    pem = str(state / "hypercorn.pem")
    certificates.issue().private_key_and_cert_chain_pem.write_to_path(pem)
    arguments = ["--bind", f"127.0.0.1:{port}", "--certfile", pem, "--keyfile", pem, "--log-level", "warning"]
    with _listening(port, "hypercorn", "emulator.bench.peer:app", *arguments, **{CONTAINER: target}) as pid:
        yield Running(f"https://127.0.0.1:{port}", pid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def _listening(port: int, module: str, *arguments: str, **environment: str) -> Iterator[int]:
    """Run a server until the block ends; enter the block with its process id when it listens."""
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{module} did not start to listen on port {port}")
            time.sleep(0.05)  # another process: there is no event to wait for
        yield process.pid
    finally:
        process.terminate()
        process.wait()
