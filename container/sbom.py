"""What an image holds, as a CycloneDX 1.6 document: Python packages, Debian packages, weights.

Run while the image is built, at the end of it, by any Python and without a package of its own::

    python -m container.sbom kokoro-torch /opt/kokoro/sbom.cdx.json --site /opt/venv/lib/python3.12/site-packages \
        --weights /opt/kokoro

It lists what is really installed. What the requirements pin, before anything is built, is listed by
``speech-infra image sbom`` and ``agent-infra image sbom``, which write the same kind of document.
"""

import argparse
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["Component", "debian", "document", "installed", "main", "python_package", "weights", "write"]

_DPKG = Path("/var/lib/dpkg/status")
_OS_RELEASE = Path("/etc/os-release")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_WEIGHTS = {".onnx", ".pth", ".pt", ".bin"}
_LONGEST_LICENCE = 100


@dataclass(frozen=True, slots=True)
class Component:
    """One part of an image. ``kind`` is CycloneDX's type of it; ``sha256`` that of its file, in hex digits."""

    name: str
    version: str = ""
    purl: str = ""
    kind: str = "library"
    sha256: str = ""
    licence: str = ""

    @property
    def ref(self) -> str:
        """What other parts of the document call it."""
        return self.purl or f"{self.kind}:{self.name}"

    def as_json(self) -> dict[str, Any]:
        """Return it as CycloneDX writes it; what is not known is left out."""
        found: dict[str, Any] = {"type": self.kind, "bom-ref": self.ref, "name": self.name}
        if self.version:
            found["version"] = self.version
        if self.purl:
            found["purl"] = self.purl
        if self.sha256:
            found["hashes"] = [{"alg": "SHA-256", "content": self.sha256}]
        if self.licence:
            found["licenses"] = [{"license": {"name": self.licence}}]
        return found


def document(image: str, components: Iterable[Component]) -> dict[str, Any]:
    """Return a document; the same components give the same one, to the byte. Of two with one reference one stays."""
    by_ref = {component.ref: component for component in components}
    parts = [by_ref[ref].as_json() for ref in sorted(by_ref)]
    content = hashlib.sha256(json.dumps([image, parts]).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(content[:32], version=5)}",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": image, "name": image}},
        "components": parts,
        "dependencies": [{"ref": image, "dependsOn": sorted(by_ref)}],
    }


def python_package(name: str, version: str, sha256: str = "", licence: str = "") -> Component:
    """Return a package of the Python index."""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    return Component(name, version, f"pkg:pypi/{plain}@{quote(version, safe='')}", "library", sha256, licence)


def installed(sites: Sequence[Path]) -> list[Component]:
    """Return the Python packages in some folders (``site-packages``)."""
    found = distributions(path=[str(site) for site in sites])
    return [python_package(each.name, each.version, licence=_licence(each)) for each in found if each.name]


def _licence(distribution: Distribution) -> str:
    """Return the licence as the package states it, empty where it gives its whole text or nothing."""
    metadata: Any = distribution.metadata
    stated = str(metadata.get("License-Expression") or metadata.get("License") or "").strip()
    if stated and "\n" not in stated and len(stated) <= _LONGEST_LICENCE and stated != "UNKNOWN":
        return stated
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return str(classifiers[0]).rpartition(" :: ")[2] if classifiers else ""


def debian(status: Path | None = None, release: Path | None = None, machine: str | None = None) -> list[Component]:
    """Return the packages of a Debian system, none where it is no such system.

    ``machine`` (``x86_64`` or ``aarch64``) is that of the image, where it is built on one of another kind.
    """
    wanted = _ARCHITECTURES.get(machine or "", "")
    status, release = status or _DPKG, release or _OS_RELEASE
    if not status.is_file():
        return []
    told = release.read_text("utf-8") if release.is_file() else ""
    words = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', told, re.MULTILINE))
    system = f"{words.get('ID', 'debian')}-{words.get('VERSION_ID', '')}".rstrip("-")
    found = []
    for paragraph in status.read_text("utf-8").split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            name, version, architecture = (fields.get(key, "") for key in ("Package", "Version", "Architecture"))
            if wanted and architecture != "all":
                architecture = wanted
            purl = (
                f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}?arch={architecture}&distro={system}"
            )
            found.append(Component(name, version, purl))
    return found


def weights(folder: Path) -> list[Component]:
    """Return the files of weights in a folder and below it, each with its SHA-256."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in _WEIGHTS and path.is_file())
    return [
        Component(str(path.relative_to(folder)), kind="machine-learning-model", sha256=_sha256(path)) for path in files
    ]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(content: dict[str, Any], path: Path) -> None:
    """Write a document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document of the image around this process."""
    parser = argparse.ArgumentParser(prog="python -m container.sbom", description=main.__doc__)
    parser.add_argument("image", help="name of the image")
    parser.add_argument("path", type=Path, help="file to write")
    parser.add_argument("--site", type=Path, action="append", help="site-packages; repeatable (default: this Python's)")
    parser.add_argument("--weights", type=Path, action="append", default=[], help="folder with weights; repeatable")
    parser.add_argument("--machine", choices=_ARCHITECTURES, help="that the image is for (default: this one)")
    options = parser.parse_args(arguments)
    folders = [*(options.site or []), *options.weights]
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        parser.error(f"{', '.join(missing)}: no such folder, so that the list would be incomplete")
    components = installed(options.site or [Path(entry) for entry in sys.path if entry])
    components += [part for folder in options.weights for part in weights(folder)]
    components += debian(machine=options.machine)
    write(document(options.image, components), options.path)
    print(f"{options.path}: {len(components)} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
