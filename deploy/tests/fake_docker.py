"""Stands in for docker in a rehearsal: builds nothing, and pushes an image of one small layer with boto3.

What it says of the image is read from the real Dockerfile and from the real command line.
"""

import hashlib
import itertools
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@dataclass(frozen=True)
class Built:
    """An image, ready to be pushed."""

    config: bytes
    layer: bytes
    manifest: str

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.manifest.encode()).hexdigest()}"


def build(dockerfile: Path, platform: str, labels: dict[str, str], number: str) -> Built:
    """Make an image; another number makes another one."""
    text = dockerfile.read_text("utf-8") if dockerfile.is_file() else ""
    written = dict(re.findall(r'^LABEL ([\w.-]+)="([^"]*)"', text, re.MULTILINE))
    entrypoint = re.search(r"^ENTRYPOINT (\[.*\])$", text, re.MULTILINE)
    default = re.search(r"^ARG PLATFORM=(.+)$", text, re.MULTILINE)
    platform = platform or (default[1] if default else "linux/amd64")
    system, _, architecture = platform.partition("/")
    layer = f"layer {number}".encode()
    config = json.dumps(
        {
            "os": system,
            "architecture": architecture,
            "config": {
                "Labels": written | labels,
                "Entrypoint": json.loads(entrypoint[1]) if entrypoint else [],
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    ).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {
                "mediaType": "application/vnd.docker.container.image.v1+json",
                "size": len(config),
                "digest": _digest(config),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    "size": len(layer),
                    "digest": _digest(layer),
                }
            ],
        }
    )
    return Built(config, layer, manifest)


def push(client: Any, repository: str, tag: str, built: Built) -> None:
    """Push an image through the registry's API."""
    for blob in (built.config, built.layer):
        upload = client.initiate_layer_upload(repositoryName=repository)["uploadId"]
        client.upload_layer_part(
            repositoryName=repository, uploadId=upload, partFirstByte=0, partLastByte=len(blob) - 1, layerPartBlob=blob
        )
        client.complete_layer_upload(repositoryName=repository, uploadId=upload, layerDigests=[_digest(blob)])
    client.put_image(
        repositoryName=repository, imageManifest=built.manifest, imageManifestMediaType=_MANIFEST, imageTag=tag
    )


def main() -> None:
    """Take docker's command line."""
    state = Path(os.environ["FAKE_DOCKER"])
    state.mkdir(exist_ok=True)
    command, arguments = sys.argv[1], sys.argv[2:]
    if sys.argv[1:] in (["buildx", "version"], ["info"]):  # only looked at
        print("github.com/docker/buildx v0.30.1 of a stand-in")
        return
    with (state / "log").open("a") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    if command == "buildx":
        options = _options(arguments)
        recipe = {
            "dockerfile": options["--file"][0],
            "platform": "".join(options.get("--platform", [])),
            "labels": dict(word.split("=", 1) for word in options.get("--label", [])),
        }
        (state / _file(options["--tag"][0])).write_text(json.dumps(recipe))
    elif command == "login":
        assert sys.stdin.read().strip()
    elif command == "push":
        import boto3  # noqa: PLC0415

        recipe = json.loads((state / _file(arguments[0])).read_text())
        built = build(Path(recipe["dockerfile"]), recipe["platform"], recipe["labels"], os.environ["FAKE_BUILD"])
        repository, _, tag = arguments[0].partition("/")[2].partition(":")
        client = boto3.client("ecr")
        push(client, repository, tag, built)
        client.close()


def _options(arguments: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in itertools.pairwise(arguments):
        if name.startswith("--") and not value.startswith("--"):
            found.setdefault(name, []).append(value)
    return found


def _file(address: str) -> str:
    return re.sub(r"\W", "_", address)


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


if __name__ == "__main__":
    main()
