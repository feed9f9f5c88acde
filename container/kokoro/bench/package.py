"""A peer: the package kokoro-onnx in an environment of its own, on the same weights, behind the same protocol.

Its own defaults throughout, but for :data:`QUIET`: phonemizer, batches, trimming, session options, threads.
Its process is peer.py.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from container.kokoro import voices
from container.kokoro.bench.servers import Kind
from container.kokoro.files import cache_directory, locked_cache
from container.kokoro.voices import VOICE_BYTES
from container.kokoro.weights import resolve

VERSION = "0.6.1"
REQUIREMENTS = (f"kokoro-onnx=={VERSION}", "websockets>=17.4,<18")
QUIET = "ORT_DISABLE_TELEMETRY"
"""ONNX Runtime's reports to its maker: the one default that nobody who measures here asked for."""
SERVER = Path(__file__).with_name("peer.py")
_ROOT = Path(__file__).parents[3]


def python() -> Path:
    """Return the interpreter of the environment in the cache, built there on first use. Raises RuntimeError."""
    uv = os.environ.get("UV") or shutil.which("uv")
    place = cache_directory() / f"peer-kokoro-onnx-{VERSION}"
    found = place / "bin" / "python"
    with locked_cache():
        if not (place / "complete").is_file():
            if uv is None:
                raise RuntimeError(
                    "kokoro-onnx is installed by uv, which is not on PATH; leave it out with --peers naive"
                )
            shutil.rmtree(place, ignore_errors=True)
            _run(uv, "venv", "-q", "--python", sys.executable, str(place))
            _run(uv, "pip", "install", "-q", "--python", str(found), *REQUIREMENTS)
            (place / "complete").touch()
    return found


def _run(*command: str) -> None:
    # in the repository, where a version manager's shim finds uv
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")


@contextmanager
def kind() -> Generator[Kind]:
    """Yield how its server is started; the weights are those of this container, the voices in its own format."""
    weights = resolve("auto", "onnx")
    with tempfile.TemporaryDirectory(prefix="kokoro-peer-") as directory:
        table = Path(directory, "voices.npz")
        raw = (voices.find(None) / "af_heart.bin").read_bytes()
        assert len(raw) == VOICE_BYTES  # noqa: S101
        np.savez(table, af_heart=np.frombuffer(raw, dtype="<f4").reshape(510, 1, 256))
        quiet = {QUIET: os.environ.get(QUIET, "1")}
        command = (str(python()), str(SERVER), "--model", str(weights.model), "--voices", str(table))
        yield Kind(f"kokoro-onnx {VERSION}", command, quiet, engine=False)
