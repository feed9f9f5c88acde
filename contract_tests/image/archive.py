"""An image in a tar archive: from ``docker save``, or the OCI layout of ``docker buildx build --output type=oci``."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from contract_tests.image.description import ImageDescription, ImageError
from contract_tests.image.requirement import oldest, torch_in_file_name

__all__ = ["from_config", "read_archive"]

_LARGEST_JSON = 8_000_000
_ADVICE = "write one with `docker save IMAGE -o image.tar`, or `docker buildx build --output type=oci,dest=image.tar`."


def read_archive(path: Path) -> ImageDescription:
    """Return what an archive tells of its image.

    Raises:
        ImageError: it is no such archive, or damaged.
    """
    try:
        with tarfile.open(path) as archive:
            members = {member.name.removeprefix("./"): member for member in archive if member.isfile()}
            return _Archive(path, archive, members).describe()
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise ImageError(str(path), f"is no readable tar archive ({error})", _ADVICE) from None
    except OSError as error:
        raise ImageError(str(path), f"cannot be read ({error.strerror or error})", _ADVICE) from None


class _Archive:
    """An open archive and its files by name."""

    def __init__(self, path: Path, archive: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo]) -> None:
        self._path = path
        self._archive = archive
        self._members = members

    def describe(self) -> ImageDescription:
        """Find configuration, layers and manifest."""
        if "manifest.json" in self._members:  # docker save; newer ones hold an OCI layout as well, whatever is pushed
            entries = self._json("manifest.json")
            if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], dict):
                self._fail("holds no image, or more than one")
            entry = entries[0]
            name = (entry.get("RepoTags") or [self._path.name])[0]
            return self._image(f"{self._path} ({name})", str(entry.get("Config")), entry.get("Layers") or [], None)
        if "index.json" not in self._members:
            self._fail("holds neither manifest.json (docker save) nor index.json (OCI layout)")
        return self._layout()

    def _layout(self) -> ImageDescription:
        entries = self._json("index.json").get("manifests") or []
        if len(entries) != 1:
            self._fail(f"its index.json names {len(entries)} images, expected one")
        media_type = str(entries[0].get("mediaType"))
        document = self._json(_blob(entries[0]))
        if "manifests" in document:  # an index: the image for linux/amd64, beside others or beside attestations
            platforms = [each for each in document["manifests"] if _platform(each) != "unknown/unknown"]
            chosen = next((each for each in platforms if _platform(each) == "linux/amd64"), None)
            chosen = chosen or (platforms[0] if platforms else self._fail("its index names no image"))
            document = self._json(_blob(chosen))
        layers = [_blob(layer) for layer in document.get("layers") or []]
        return self._image(str(self._path), _blob(document.get("config") or {}), layers, media_type)

    def _image(self, name: str, config_name: str, layers: list[str], manifest: str | None) -> ImageDescription:
        versions, place = [], ""
        for layer in layers:
            for file in self._layer_files(layer):
                version = torch_in_file_name(file)
                if version is not None:
                    versions.append(version)
                    place = file
        size = sum(self._members[layer].size for layer in layers if layer in self._members)
        description = from_config(name, "archive", self._json(config_name), manifest, size)
        return replace(description, torch=oldest(versions), torch_place=place)

    def _layer_files(self, name: str) -> list[str]:
        file = self._archive.extractfile(self._members[name]) if name in self._members else None
        if file is None:
            return []
        try:
            with tarfile.open(fileobj=file, mode="r:*") as layer:
                return layer.getnames()
        except tarfile.TarError:
            return []  # zstd, which Python 3.12 does not read: what is in it stays unknown

    def _json(self, name: str) -> Any:
        member = self._members.get(name)
        if member is None or member.size > _LARGEST_JSON:
            self._fail(f"{name} is missing or too large")
        file = self._archive.extractfile(member)
        try:
            return json.load(io.TextIOWrapper(file, "utf-8")) if file is not None else None
        except ValueError as error:
            self._fail(f"{name} is no JSON ({error})")

    def _fail(self, problem: str) -> NoReturn:
        raise ImageError(str(self._path), problem, _ADVICE)


def from_config(
    name: str, kind: str, document: Mapping[str, Any], manifest: str | None, size: int | None
) -> ImageDescription:
    """Return the description that an image's configuration (OCI or Docker) gives."""
    config = document.get("config") or {}
    entrypoint = tuple(config.get("Entrypoint") or ())
    return ImageDescription(
        name=name,
        kind="archive" if kind == "archive" else "engine",
        labels={key: str(value) for key, value in (config.get("Labels") or {}).items()},
        architecture=document.get("architecture"),
        operating_system=document.get("os"),
        entrypoint=entrypoint,
        shell_form=False,
        command=tuple(config.get("Cmd") or ()),
        ports=tuple(config.get("ExposedPorts") or ()),
        user=str(config.get("User") or ""),
        manifest=manifest,
        size=size,
    )


def _blob(descriptor: Mapping[str, Any]) -> str:
    algorithm, _, digest = str(descriptor.get("digest", "")).partition(":")
    return f"blobs/{algorithm}/{digest}"


def _platform(descriptor: Mapping[str, Any]) -> str:
    platform = descriptor.get("platform") or {}
    return f"{platform.get('os')}/{platform.get('architecture')}"
