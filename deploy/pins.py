"""The pinned requirements of the images, and what they say of CUDA."""

import re
from dataclasses import dataclass
from pathlib import Path

from deploy.errors import DeployError

__all__ = ["LOWEST_TORCH", "Pin", "cuda_of", "read", "root", "version_of"]

LOWEST_TORCH = (2, 13)
"""PYSEC-2026-2286, PYSEC-2026-139, PYSEC-2025-194 and PYSEC-2025-195 are fixed in it."""
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)\s*(?:;\s*([^\\]+?))?\s*\\?$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One pinned package. ``marker`` is the condition under which it is installed, as written."""

    name: str
    version: str
    marker: str = ""
    hashes: tuple[str, ...] = ()


def root() -> Path:
    """Return the repository's root, which images are built from.

    Raises:
        DeployError: this is an installed package without the repository around it.
    """
    folder = Path(__file__).parents[1]
    if not (folder / "container" / "kokoro" / "Dockerfile").is_file():
        raise DeployError(f"{folder} is not the repository: images are built from a checkout of it.")
    return folder


def read(path: Path) -> list[Pin]:
    """Read a file of requirements with hashes.

    Raises:
        DeployError: it cannot be read, or pins nothing.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise DeployError(f"The requirements {path} cannot be read: {error.strerror}.") from error
    starts = list(_PIN.finditer(text))
    ends = [*(found.start() for found in starts[1:]), len(text)]
    pins = [
        Pin(found[1].lower(), found[2], (found[3] or "").strip(), tuple(_HASH.findall(text[found.end() : end])))
        for found, end in zip(starts, ends, strict=True)
    ]
    if not pins:
        raise DeployError(f"{path} pins no package (name==version); renew it with requirements/export.sh.")
    return pins


def version_of(pins: list[Pin], name: str) -> str | None:
    """Return the version of a package, None where it is not pinned."""
    return next((pin.version for pin in pins if pin.name == name), None)


def cuda_of(pins: list[Pin]) -> str | None:
    """Return the CUDA version that torch brings along ("13.0"), None without torch.

    Wheels of the default index: 2.10 is built for CUDA 12.8, 2.11 and later for 13.
    """
    torch = version_of(pins, "torch")
    if torch is None:
        return None
    for name in ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu13", "nvidia-cuda-runtime-cu12"):
        runtime = version_of(pins, name)
        if runtime:
            return ".".join(runtime.split(".")[:2])
    major, minor = (int(part) for part in torch.split(".")[:2])
    return "13.0" if (major, minor) >= (2, 11) else "12.8"
