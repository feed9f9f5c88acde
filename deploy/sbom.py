"""What an image is built from, as a CycloneDX list of its pinned requirements.

What the Dockerfile takes out again after the build is listed too.
"""

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

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
    components = [
        {
            "type": "library",
            "bom-ref": _purl(pin),
            "name": pin.name,
            "version": pin.version,
            "purl": _purl(pin),
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes[:1]]
            if len(pin.hashes) == 1
            else [],
        }
        for pin in sorted(pins, key=lambda pin: pin.name)
    ]
    content = hashlib.sha256(json.dumps([image, components]).encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(content[:32])}",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": image, "name": image}},
        "components": components,
        "dependencies": [{"ref": image, "dependsOn": [component["bom-ref"] for component in components]}],
    }


def write(document: dict[str, Any], path: Path) -> None:
    """Write a document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _purl(pin: Pin) -> str:
    return f"pkg:pypi/{pin.name.replace('_', '-')}@{pin.version.replace('+', '%2B')}"
