"""Versions of torch as installers name them."""

import re
from collections.abc import Iterable

__all__ = ["oldest", "torch_in_file_name", "torch_in_requirements", "version_key"]

_PINNED = re.compile(r"(?<![\w-])torch\s*(?:\[[^\]]*\])?\s*(?:===?|~=|<=)\s*v?(\d+(?:\.\d+)*)", re.IGNORECASE)
_DIST_INFO = re.compile(r"(?:^|/)torch-(\d+(?:\.\d+)*)[^/]*\.dist-info/METADATA$")


def torch_in_requirements(text: str) -> str | None:
    """Return the oldest version of torch that a command or a requirements file pins (``==``, ``~=``, ``<=``)."""
    return oldest(_PINNED.findall(text))


def torch_in_file_name(path: str) -> str | None:
    """Return the version whose metadata the path is, None for any other file."""
    match = _DIST_INFO.search(path)
    return match[1] if match else None


def oldest(versions: Iterable[str]) -> str | None:
    """Return the smallest version, None if there is none."""
    return min(versions, key=version_key, default=None)


def version_key(version: str) -> tuple[int, ...]:
    """Return numbers to compare: ``2.9`` is older than ``2.13``."""
    return tuple(int(part) for part in version.split("."))
