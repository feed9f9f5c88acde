"""Weights in S3: one folder for each version, named by what is in it, with the SHA-256 of every file beside it."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.cloud import Cloud
from deploy.errors import DeployError

__all__ = ["Manifest", "check", "known", "manifest_of", "packaged", "push"]

_MODEL = "kokoro-82m"
_CHECKPOINT = "kokoro-v1_0.pth"
_OPTIONS = {"--weights hub": "--hub", "Use --weights auto": "Leave out --hub"}
"""The container's advice names its own options."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one version: path below the folder to SHA-256 (hex) and size in bytes."""

    files: dict[str, tuple[str, int]]

    @property
    def name(self) -> str:
        """A name that changes with any file."""
        return hashlib.sha256(json.dumps(self.files, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def prefix(self) -> str:
        """Key prefix of the folder; SageMaker copies everything below it to /opt/ml/model."""
        return f"models/{_MODEL}/{self.name}/"

    @property
    def key(self) -> str:
        """Key of the manifest itself, outside of the folder. It is written last, so that it vouches for the rest."""
        return f"models/{_MODEL}/{self.name}.json"

    @property
    def engine(self) -> str:
        """Which engine reads it: onnx or torch."""
        return "torch" if _CHECKPOINT in self.files else "onnx"

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(size for _, size in self.files.values())


def manifest_of(files: dict[str, Path]) -> Manifest:
    """Read all files (path in the folder to where it is here) and return their manifest."""
    return Manifest({name: (_sha256(path), path.stat().st_size) for name, path in sorted(files.items())})


def folder(path: Path) -> dict[str, Path]:
    """Return the files of a folder that the container would take.

    Raises:
        DeployError: it holds no model, no voices, or voices that the container could not read.
    """
    layout = (
        f"a .onnx file or {_CHECKPOINT}, voices/*.bin or voices/*.pt, and config.json where it is not the usual one"
    )
    if not path.is_dir():
        raise DeployError(f"The folder {path} does not exist. Expected is one with {layout}.")
    wanted = ("*.onnx", _CHECKPOINT, "config.json", "voices/*.bin", "voices/*.pt")
    files = {str(file.relative_to(path)): file for pattern in wanted for file in path.glob(pattern) if file.is_file()}
    models = [name for name in files if name.endswith(".onnx") or name == _CHECKPOINT]
    voices = [name for name in files if name.startswith("voices/")]
    if len(models) != 1 or not voices:
        raise DeployError(
            f"{path} holds {len(models)} models and {len(voices)} voices. Expected is a folder with {layout}."
        )
    tensors = sorted(name for name in voices if name.endswith(".pt") and f"{name[:-3]}.bin" not in files)
    if tensors and models[0] != _CHECKPOINT:  # the endpoint would not start, and say so only in its log
        raise DeployError(
            f"{path} holds {models[0]}, for the engine onnx, and {', '.join(tensors[:3])}, which only torch reads. Put "
            "a .bin beside each: torch.load('NAME.pt', weights_only=True).float().numpy().tofile('NAME.bin')."
        )
    return files


def packaged(engine: str, choice: str = "auto") -> dict[str, Path]:
    """Return the files of the weights that come with the packages (``auto``) or from the hub (``hub``).

    Raises:
        DeployError: they are not installed, or cannot be fetched.
    """
    from container.kokoro import weights  # noqa: PLC0415  # needs the extra 'kokoro', for torch the extra 'torch'
    from container.kokoro.errors import SetupError  # noqa: PLC0415  # slow

    try:
        found = weights.resolve(choice, engine)
    except (SetupError, ImportError) as error:
        reason = str(error).rstrip(".")
        for theirs, ours in _OPTIONS.items():
            reason = reason.replace(theirs, ours)
        raise DeployError(
            f"No weights for the engine {engine}: {reason}. Install what reads them with "
            f"'uv sync --extra {'torch' if engine == 'torch' else 'kokoro'}', or give a folder."
        ) from error
    model = _CHECKPOINT if engine == "torch" else found.model.name
    files = {model: found.model, "config.json": found.config}
    return files | {f"voices/{path.name}": path for path in _voices(found.voices)}


def push(cloud: Cloud, bucket: str, files: dict[str, Path]) -> Iterator[str]:
    """Upload what is not there yet, then the manifest; yields what it does, a line each."""
    manifest = manifest_of(files)
    client = cloud.client("s3")
    there = _listed(client, bucket, manifest.prefix)
    for name, (digest, size) in manifest.files.items():
        key = f"{manifest.prefix}{name}"
        if there.get(key) == size and _stored_digest(client, bucket, key) == digest:
            yield f"  {name}: there already"
            continue
        client.upload_file(
            str(files[name]), bucket, key, ExtraArgs={"Metadata": {"sha256": digest}, "ChecksumAlgorithm": "SHA256"}
        )
        yield f"  {name}: {size:,} bytes"
    for key in there.keys() - {f"{manifest.prefix}{name}" for name in manifest.files}:
        client.delete_object(Bucket=bucket, Key=key)  # SageMaker would copy it too
        yield f"  {key.removeprefix(manifest.prefix)}: deleted, it does not belong there"
    body = json.dumps(
        {name: {"sha256": digest, "size": size} for name, (digest, size) in manifest.files.items()}, indent=1
    )
    client.put_object(Bucket=bucket, Key=manifest.key, Body=body.encode(), ContentType="application/json")
    yield f"weights {manifest.name}: {len(manifest.files)} files, {manifest.size:,} bytes in s3://{bucket}/{manifest.prefix}"


def known(cloud: Cloud, bucket: str) -> list[Manifest]:
    """Return the versions whose manifest is in the bucket, the newest first."""
    client = cloud.client("s3")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"models/{_MODEL}/", Delimiter="/")
    entries = [entry for page in pages for entry in page.get("Contents", []) if entry["Key"].endswith(".json")]
    found = []
    for entry in sorted(entries, key=lambda entry: entry["LastModified"], reverse=True):
        body: dict[str, Any] = json.loads(client.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read())
        found.append(Manifest({name: (value["sha256"], value["size"]) for name, value in sorted(body.items())}))
    return found


def check(cloud: Cloud, bucket: str, manifest: Manifest) -> list[str]:
    """Return what is wrong with a version in the bucket: files that are missing, of another size, or too many."""
    there = _listed(cloud.client("s3"), bucket, manifest.prefix)
    wanted = {f"{manifest.prefix}{name}": size for name, (_, size) in manifest.files.items()}
    problems = [f"{key} is missing" for key in wanted.keys() - there.keys()]
    problems += [f"{key} does not belong there" for key in there.keys() - wanted.keys()]
    problems += [
        f"{key} has {there[key]:,} bytes instead of {wanted[key]:,}"
        for key in wanted.keys() & there.keys()
        if there[key] != wanted[key]
    ]
    return sorted(problems)


def _voices(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in {".bin", ".pt"})


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(client: Any, bucket: str, prefix: str) -> dict[str, int]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {entry["Key"]: entry["Size"] for page in pages for entry in page.get("Contents", [])}


def _stored_digest(client: Any, bucket: str, key: str) -> str | None:
    head = client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    checksum = head.get("ChecksumSHA256", "")
    if checksum and "-" not in checksum:  # a checksum of parts is not that of the file
        return base64.b64decode(checksum).hex()
    stored: str | None = head.get("Metadata", {}).get("sha256")
    return stored
