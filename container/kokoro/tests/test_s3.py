"""Weights from S3, against moto's S3 in this process."""

import hashlib
import importlib.util
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from container.kokoro import s3, voices, weights
from container.kokoro.errors import SetupError
from container.kokoro.voices import VOICE_BYTES
from container.kokoro.weights import resolve

URL = "s3://speech-models/kokoro/v1"
MODEL = bytes(range(256)) * 20_000  # 5 MB: five chunks


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    monkeypatch.setenv("KOKORO_CACHE", str(tmp_path / "cache"))
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="speech-models")
        put(client, "mine.onnx", MODEL)
        put(client, "voices/af_heart.bin", bytes(VOICE_BYTES))
        put(client, "README.md", b"not wanted")
        yield client


def put(client: Any, name: str, body: bytes) -> None:
    client.put_object(Bucket="speech-models", Key=f"kokoro/v1/{name}", Body=body)


@pytest.fixture
def requests(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked for: key and range of each GetObject, by all clients made from now on."""
    del bucket
    seen: list[str] = []
    make = boto3.client

    def client(*arguments: Any, **options: Any) -> Any:
        made = make(*arguments, **options)
        made.meta.events.register(
            "provide-client-params.s3.GetObject",
            lambda params, **_: seen.append(f"{params['Key'].rsplit('/', 1)[1]} {params.get('Range', 'all')}"),
        )
        return made

    monkeypatch.setattr(boto3, "client", client)
    return seen


def test_fetched_once_then_taken_from_the_cache(requests: list[str]) -> None:
    found = resolve(URL, "onnx")
    assert found.model.read_bytes() == MODEL
    assert found.source == URL
    assert (found.voices / "af_heart.bin").stat().st_size == VOICE_BYTES
    assert sorted(requests) == ["af_heart.bin bytes=0-", "mine.onnx bytes=0-"]
    assert resolve(URL, "onnx") == found
    assert len(requests) == 2
    assert not list(found.model.parent.rglob("*.part"))


def test_what_changed_is_fetched_again_and_what_is_gone_goes(bucket: Any, requests: list[str]) -> None:
    resolve(URL, "onnx")
    put(bucket, "new.onnx", b"another model")
    bucket.delete_object(Bucket="speech-models", Key="kokoro/v1/mine.onnx")
    put(bucket, "voices/af_heart.bin", bytes(VOICE_BYTES - 1) + b"\1")
    found = resolve(URL, "onnx")
    assert found.model.read_bytes() == b"another model"
    assert (found.voices / "af_heart.bin").read_bytes().endswith(b"\1")
    assert requests[2:] == ["new.onnx bytes=0-", "af_heart.bin bytes=0-"]


class Broken:
    """A body that breaks off after its first chunk."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def iter_chunks(self, size: int) -> Generator[bytes]:
        yield next(iter(self._body.iter_chunks(size)))
        raise OSError("connection reset")


def breaking(monkeypatch: pytest.MonkeyPatch, broken: Callable[[int], bool]) -> None:
    """Break off the n-th answer (from 0) with a large body where `broken(n)`."""
    count = iter(range(1000))
    append = s3.Prefix._append  # noqa: SLF001

    def replaced(self: s3.Prefix, remote: s3.Remote, part: Path) -> None:
        if remote.size <= VOICE_BYTES or not broken(next(count)):
            append(self, remote, part)
            return
        client = self._client

        class Client:
            @staticmethod
            def get_object(**options: Any) -> dict[str, Any]:
                return {"Body": Broken(client.get_object(**options)["Body"])}

        self._client = Client()
        try:
            append(self, remote, part)
        finally:
            self._client = client

    monkeypatch.setattr(s3.Prefix, "_append", replaced)


def test_a_broken_download_goes_on_where_it_ended(requests: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    breaking(monkeypatch, lambda number: number < 2)
    assert resolve(URL, "onnx").model.read_bytes() == MODEL
    assert [line for line in requests if line.startswith("mine")] == [
        "mine.onnx bytes=0-",
        f"mine.onnx bytes={1 << 20}-",
        f"mine.onnx bytes={2 << 20}-",
    ]


def test_a_download_that_never_ends_is_told_and_the_next_start_resumes(
    requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        breaking(patch, lambda _: True)
        with pytest.raises(SetupError, match=rf"mine.onnx broke off after {4 << 20} of {len(MODEL)} bytes"):
            resolve(URL, "onnx")
    del requests[:]
    assert resolve(URL, "onnx").model.read_bytes() == MODEL
    assert requests[0] == f"mine.onnx bytes={4 << 20}-"


def test_a_damaged_part_is_thrown_away_and_fetched_anew(tmp_path: Path, bucket: Any) -> None:
    resolve(URL, "onnx")
    [model] = (tmp_path / "cache").rglob("mine.onnx")
    etag = bucket.head_object(Bucket="speech-models", Key="kokoro/v1/mine.onnx")["ETag"].strip('"')
    model.unlink()
    model.with_name(f".mine.onnx.{etag}.part").write_bytes(bytes(1000))  # not what lies in the bucket
    with pytest.raises(SetupError, match="damaged on the way or in the bucket"):
        resolve(URL, "onnx")
    assert resolve(URL, "onnx").model.read_bytes() == MODEL


def test_sums_are_checked(bucket: Any) -> None:
    put(bucket, "SHA256SUMS", f"{'0' * 64}  mine.onnx\n".encode())
    with pytest.raises(SetupError, match=rf"mine.onnx has SHA256 {hashlib.sha256(MODEL).hexdigest()}, expected 0000"):
        resolve(URL, "onnx")
    put(bucket, "SHA256SUMS", f"{hashlib.sha256(MODEL).hexdigest()} *./mine.onnx\n".encode())
    assert resolve(URL, "onnx").sha256 == hashlib.sha256(MODEL).hexdigest()
    put(bucket, "SHA256SUMS", f"{'1' * 64}  voices/bf_emma.bin\n".encode())
    with pytest.raises(SetupError, match=r"SHA256SUMS names voices/bf_emma\.bin, which are not there"):
        resolve(URL, "onnx")


@pytest.mark.parametrize("line", [b"abc", b"abc  mine.onnx", b"\xff\xfe", b"0" * 64 + b"  \xff.onnx", b"0" * 64])
def test_sums_that_are_none_are_told_with_their_line(bucket: Any, line: bytes) -> None:
    put(bucket, "SHA256SUMS", b"# made by hand\n\n" + line + b"\n")
    with pytest.raises(SetupError) as told:
        resolve(URL, "onnx")
    assert str(told.value).startswith(f"{URL}: line 3 of SHA256SUMS is '")
    assert "expected the SHA-256 in 64 hex digits, two blanks and a file name in UTF-8" in str(told.value)


def test_an_upload_in_parts_needs_sums(bucket: Any) -> None:
    key = {"Bucket": "speech-models", "Key": "kokoro/v1/mine.onnx"}
    upload = bucket.create_multipart_upload(**key)["UploadId"]
    part = bucket.upload_part(**key, UploadId=upload, PartNumber=1, Body=MODEL)
    bucket.complete_multipart_upload(
        **key, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    )
    with pytest.raises(SetupError, match=r"no checksum of the whole mine.onnx.*SHA256SUMS"):
        resolve(URL, "onnx")
    put(bucket, "SHA256SUMS", f"{hashlib.sha256(MODEL).hexdigest()}  mine.onnx\n".encode())
    assert resolve(URL, "onnx").model.read_bytes() == MODEL


@pytest.mark.parametrize(
    ("gone", "words"),
    [("mine.onnx", "a .onnx file not found"), ("voices/af_heart.bin", r"voices/af_heart.bin \(or .pt\) not found")],
)
def test_what_is_incomplete_is_named(bucket: Any, gone: str, words: str) -> None:
    bucket.delete_object(Bucket="speech-models", Key=f"kokoro/v1/{gone}")
    with pytest.raises(SetupError, match=words):
        resolve(URL, "onnx")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://", "expected s3://BUCKET/PREFIX"),
        ("s3://no-such-bucket/x", "could not be read: .*NoSuchBucket.*\nThe role"),
        ("s3://speech-models/elsewhere", "is incomplete: .* nothing that is used"),
    ],
)
def test_urls_that_do_not_do(bucket: Any, url: str, words: str) -> None:
    del bucket
    with pytest.raises(SetupError, match=words):
        resolve(url, "onnx")


def test_two_at_once_fetch_once(bucket: Any) -> None:
    asked: list[str] = []
    bucket.meta.events.register("provide-client-params.s3.GetObject", lambda params, **_: asked.append(params["Key"]))
    prefixes = [s3.Prefix(bucket, URL, "speech-models", "kokoro/v1") for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda prefix: prefix.fetch("onnx"), prefixes)
    assert one == two
    assert (one / "mine.onnx").read_bytes() == MODEL
    assert len(asked) == 2


def test_torch_takes_the_checkpoint_only(bucket: Any, requests: list[str]) -> None:
    put(bucket, weights.CHECKPOINT_NAME, b"checkpoint")
    assert resolve(URL, "torch").model.name == weights.CHECKPOINT_NAME
    assert not any(line.startswith("mine") for line in requests)


def test_voices_that_only_torch_reads_are_refused_before_anything_is_fetched(
    bucket: Any, requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else find(name))
    put(bucket, "voices/af_sky.pt", b"tensor")
    with pytest.raises(SetupError, match=rf"{URL}: af_sky.pt can only be read with torch.*Put a .bin beside each"):
        resolve(URL, "onnx")
    assert requests == []
    put(bucket, "voices/af_sky.bin", bytes(VOICE_BYTES))
    assert voices.load(resolve(URL, "onnx").voices).names == ["af_heart", "af_sky"]


def test_every_voice_that_can_be_asked_for_is_fetched(bucket: Any) -> None:
    put(bucket, "voices/af_2nd_try.bin", bytes(VOICE_BYTES))
    assert voices.load(resolve(URL, "onnx").voices).names == ["af_2nd_try", "af_heart"]
