"""What an image is built from: its pinned requirements, as a CycloneDX document.

What the Dockerfile takes out again after the build is listed too. What is really in an image, Debian's packages and the
weights included, is listed while it is built: :mod:`container.sbom`.
"""

from typing import Any

from container import sbom
from container.sbom import write
from deploy.pins import Pin

__all__ = ["applies", "bill", "write"]

_LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}


def applies(pin: Pin, machine: str) -> bool:
    """Whether a package is installed in a Linux image of an architecture (``x86_64`` or ``aarch64``)."""
    if not pin.marker:
        return True
    from packaging.markers import Marker  # noqa: PLC0415  # slow

    return Marker(pin.marker).evaluate({**_LINUX, "platform_machine": machine, "python_version": "3.12"})


def bill(image: str, pins: list[Pin]) -> dict[str, Any]:
    """Return a CycloneDX 1.6 document; the same pins give the same document."""
    return sbom.document(
        image,
        # with several hashes it is not known which file was taken
        (sbom.python_package(pin.name, pin.version, *(pin.hashes if len(pin.hashes) == 1 else ())) for pin in pins),
    )
