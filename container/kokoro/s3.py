"""Weights from an S3 prefix: fetched once into the cache, resumed where they broke off, checked. Needs the extra 's3'.

The prefix has the layout of a weights directory. What a file must be is said, in this order, by a file SHA256SUMS
(the format of sha256sum) in the prefix, by the SHA-256 that S3 keeps with the object, or by its MD5 as ETag.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from container.kokoro import voices
from container.kokoro.errors import SetupError
from container.kokoro.files import locked_cache

SUMS = "SHA256SUMS"
ATTEMPTS = 4
"""Times that one file may break off; each goes on where the last ended."""
_PART = 1 << 20
_URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?")
_WANTED = {
    "onnx": re.compile(rf"[\w.-]+\.onnx|config\.json|{SUMS}|voices/[\w.-]+\.(?:bin|pt)"),
    "torch": re.compile(rf"kokoro-v1_0\.pth|config\.json|{SUMS}|voices/[\w.-]+\.(?:bin|pt)"),
}
_MODEL = {"onnx": ".onnx", "torch": ".pth"}
_SUM = re.compile(r"([0-9a-fA-F]{64})\s+\*?([^\s\ufffd][^\ufffd]*)")
"""A line of sha256sum, decoded with U+FFFD for what is no UTF-8."""
_MD5_ETAG = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Remote:
    """One object: its name below the prefix, its key, its size in bytes and its ETag."""

    name: str
    key: str
    size: int
    etag: str


def fetch(url: str, engine: str) -> Path:
    """Return a directory with what the engine needs of `url` (s3://BUCKET/PREFIX). Raises SetupError."""
    match = _URL.fullmatch(url)
    if match is None:
        raise SetupError(f"The weights are {url!r}, expected s3://BUCKET/PREFIX.")
    try:
        import boto3  # noqa: PLC0415  # an extra
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SetupError("Weights from S3 need the package boto3. Install the extra 's3'.") from error
    try:
        return Prefix(boto3.client("s3"), url, match[1], (match[2] or "").strip("/")).fetch(engine)
    except (BotoCoreError, ClientError) as error:
        raise SetupError(
            f"{url} could not be read: {error}\nThe role of the container needs s3:ListBucket and s3:GetObject there."
        ) from error


class Prefix:
    """One prefix of one bucket, and its copy in the cache."""

    def __init__(self, client: Any, url: str, bucket: str, prefix: str) -> None:
        self._client = client
        self._url = url
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    def fetch(self, engine: str) -> Path:
        """Bring the copy up to date and return its directory; a second process waits, and then finds it done."""
        objects = {remote.name: remote for remote in self._list(engine)}
        self._check_complete(objects, engine)
        with locked_cache() as cache:
            directory = cache / "s3" / hashlib.sha256(self._url.encode()).hexdigest()[:16] / engine
            (directory / "voices").mkdir(parents=True, exist_ok=True)
            self._forget_what_is_gone(directory, set(objects))
            known = _read_known(directory)
            sums = self._sums(objects.pop(SUMS, None), objects)
            for remote in objects.values():
                target = directory / remote.name
                state = [remote.etag, remote.size, sums.get(remote.name)]
                if known.get(remote.name) == state and target.is_file() and target.stat().st_size == remote.size:
                    continue
                self._download(remote, target, sums.get(remote.name))
                known[remote.name] = state
                _known_file(directory).write_text(json.dumps(known), encoding="utf-8")
        return directory

    def _list(self, engine: str) -> Iterator[Remote]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        for page in pages:
            for item in page.get("Contents", ()):
                name = item["Key"][len(self._prefix) :]
                if _WANTED[engine].fullmatch(name):
                    yield Remote(name, item["Key"], item["Size"], item["ETag"].strip('"'))

    def _check_complete(self, objects: dict[str, Remote], engine: str) -> None:
        missing = []
        if not any(name.endswith(_MODEL[engine]) for name in objects):
            missing.append("a .onnx file" if engine == "onnx" else "kokoro-v1_0.pth")
        if not any(Path(name).stem == "af_heart" for name in objects):
            missing.append("voices/af_heart.bin (or .pt)")
        if missing:
            found = ", ".join(sorted(objects)[:5]) or "nothing that is used"
            raise SetupError(
                f"{self._url} is incomplete: {' and '.join(missing)} not found (there: {found}). "
                "Upload a whole weights directory, for instance what `fetch` leaves in the cache."
            )
        # before anything is downloaded: a voice that this image cannot read
        voices.usable(self._url, (Path(name).name for name in objects if name.startswith("voices/")))

    def _sums(self, remote: Remote | None, objects: dict[str, Remote]) -> dict[str, str]:
        if remote is None:
            return {}
        sums = self._parsed(self._client.get_object(Bucket=self._bucket, Key=remote.key)["Body"].read(1 << 20))
        models = [name for name in sums if name.endswith((".onnx", ".pth"))]
        gone = sorted(name for name in sums if name not in objects and name not in models)
        if gone:
            raise SetupError(f"{self._url} is incomplete: {SUMS} names {', '.join(gone[:5])}, which are not there.")
        return sums

    def _parsed(self, content: bytes) -> dict[str, str]:
        """Return the digests by name of what sha256sum wrote."""
        sums = {}
        for number, written in enumerate(content.splitlines(), 1):
            line = written.decode("utf-8", "replace").strip()
            if not line or line.startswith("#"):  # sha256sum --check passes over them, too
                continue
            match = _SUM.fullmatch(line)
            if match is None:
                raise SetupError(
                    f"{self._url}: line {number} of {SUMS} is {line[:60]!r}, expected the SHA-256 in 64 hex digits, "
                    f"two blanks and a file name in UTF-8. Make it anew with `sha256sum *.onnx voices/* > {SUMS}`."
                )
            sums[match[2].removeprefix("./")] = match[1].lower()
        return sums

    @staticmethod
    def _forget_what_is_gone(directory: Path, names: set[str]) -> None:
        for path in [*directory.glob("*.onnx"), *directory.glob("voices/*"), *directory.glob("config.json")]:
            if str(path.relative_to(directory)) not in names:
                path.unlink()

    def _download(self, remote: Remote, target: Path, sha256: str | None) -> None:
        part = target.with_name(f".{target.name}.{re.sub(r'[^0-9a-f-]', '', remote.etag)}.part")
        for attempt in range(ATTEMPTS):
            try:
                self._append(remote, part)
                break
            except OSError as error:
                if attempt + 1 == ATTEMPTS:
                    raise SetupError(
                        f"{self._url}: {remote.name} broke off after {_size(part)} of {remote.size} bytes "
                        f"({error}). Start again: it goes on from there."
                    ) from error
        kind, wanted = ("sha256", sha256) if sha256 else self._checksum(remote)
        with part.open("rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        if found != wanted:
            part.unlink()
            raise SetupError(
                f"{self._url}: {remote.name} has {kind.upper()} {found}, expected {wanted}: damaged on the way or in "
                "the bucket. Start again, or upload it anew."
            )
        part.replace(target)

    def _append(self, remote: Remote, part: Path) -> None:
        from botocore.exceptions import HTTPClientError  # noqa: PLC0415
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  # comes with boto3

        have = _size(part)
        if have > remote.size:
            part.unlink()
            have = 0
        if have == remote.size:
            part.touch()
            return
        try:
            # IfMatch: what was replaced meanwhile must not be glued to what is here
            body = self._client.get_object(
                Bucket=self._bucket, Key=remote.key, Range=f"bytes={have}-", IfMatch=f'"{remote.etag}"'
            )["Body"]
            with part.open("ab") as file:
                for chunk in body.iter_chunks(_PART):
                    file.write(chunk)
        except (HTTPError, HTTPClientError) as error:
            raise OSError(str(error)) from error
        if _size(part) < remote.size:
            raise OSError("the connection ended early")

    def _checksum(self, remote: Remote) -> tuple[str, str]:
        """Return the kind and the hex digest of what S3 says the object is."""
        head = self._client.head_object(Bucket=self._bucket, Key=remote.key, ChecksumMode="ENABLED")
        checksum = head.get("ChecksumSHA256")
        if checksum and "-" not in checksum:
            return "sha256", base64.b64decode(checksum).hex()
        if _MD5_ETAG.fullmatch(remote.etag) and head.get("ServerSideEncryption", "AES256") == "AES256":
            return "md5", remote.etag
        raise SetupError(
            f"{self._url}: S3 keeps no checksum of the whole {remote.name} (it was uploaded in parts). "
            f"Put a file {SUMS} beside it, made with `sha256sum *.onnx voices/* > {SUMS}`."
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _known_file(directory: Path) -> Path:
    return directory / ".known.json"


def _read_known(directory: Path) -> dict[str, Any]:
    try:
        known = json.loads(_known_file(directory).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
