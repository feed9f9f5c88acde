"""Static checks of images: Dockerfiles, archives made here, and an engine that is none."""

import gc
import gzip
import hashlib
import io
import json
import tarfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from contract_tests.image.archive import read_archive
from contract_tests.image.checks import IMAGE_CHECKS, judge_image
from contract_tests.image.description import ImageDescription, ImageError
from contract_tests.image.dockerfile import read_dockerfile
from contract_tests.image.engine import read_image
from contract_tests.report import render

ROOT = Path(__file__).parents[2]
LABEL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
GOOD = f"""
FROM --platform=linux/amd64 python:3.12-slim
LABEL {LABEL}="true"
RUN pip install torch==2.13.0 starlette
EXPOSE 8080
ENTRYPOINT ["python", "-m", "mine"]
"""
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
OCI = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG: dict[str, Any] = {
    "architecture": "amd64",
    "os": "linux",
    "config": {"Labels": {LABEL: "true"}, "Entrypoint": ["python", "-m", "mine"], "ExposedPorts": {"8080/tcp": {}}},
}


def statuses(image: ImageDescription) -> dict[str, str]:
    return {verdict.id: str(verdict.status) for verdict in judge_image(image)}


def dockerfile(folder: Path, text: str, **arguments: str) -> ImageDescription:
    file = folder / "Dockerfile"
    file.write_text(text, "utf-8")
    return read_dockerfile(file, arguments)


def blob(files: dict[str, bytes], data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    files[f"blobs/sha256/{digest}"] = data
    return {"digest": f"sha256:{digest}", "size": len(data)}


def layer(*names: str, packed: bool = True) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    return gzip.compress(out.getvalue()) if packed else out.getvalue()


def written(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def oci(path: Path, media_type: str, config: dict[str, Any], *layer_files: str, index: bool = False) -> Path:
    """Write an OCI layout; with ``index`` the image stands in an index beside an attestation, as buildx does it."""
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    layers = [blob(files, layer(*layer_files))] if layer_files else []
    manifest = {"config": blob(files, json.dumps(config).encode()), "layers": layers}
    top = blob(files, json.dumps(manifest).encode())
    if index:
        proof = {**blob(files, b"{}"), "platform": {"os": "unknown", "architecture": "unknown"}}
        image = {**top, "platform": {"os": "linux", "architecture": config["architecture"]}}
        top = blob(files, json.dumps({"manifests": [proof, image]}).encode())
    files["index.json"] = json.dumps({"manifests": [{**top, "mediaType": media_type}]}).encode()
    return written(path, files)


def test_a_good_dockerfile(tmp_path: Path) -> None:
    unknown = {"IM3": "N/A", "IM8": "N/A"}  # not told by a Dockerfile
    assert statuses(dockerfile(tmp_path, GOOD)) == dict.fromkeys((check.id for check in IMAGE_CHECKS), "PASS") | unknown


@pytest.mark.parametrize(
    ("old", "new", "check", "status", "words"),
    [
        ('"true"', '"false"', "IM1", "FAIL", "=false"),
        ("LABEL ", "# LABEL ", "IM1", "FAIL", "no such label"),
        ("bidirectional-streaming=", "bidirectional=", "IM1", "FAIL", "it has com.amazonaws.sagemaker"),
        ("linux/amd64", "linux/arm64", "IM2", "FAIL", "linux/arm64"),
        ("--platform=linux/amd64 ", "", "IM2", "N/A", "--platform linux/amd64"),
        ('["python", "-m", "mine"]', "python -m mine", "IM4", "FAIL", "shell form: /bin/sh -c python -m mine"),
        ('["python", "-m", "mine"]', '["bash", "-c", "python -m mine"]', "IM4", "FAIL", "shell form"),
        ("ENTRYPOINT", "CMD", "IM4", "FAIL", "a program named `serve`"),
        ("python:3.12-slim", "nvidia/cuda:13.0-runtime", "IM4", "PASS", ""),
        ('["python"', '["tini", "--", "python"', "IM4", "WARN", "tini"),
        (
            '["python", "-m", "mine"]',
            '["uvicorn", "app:app", "--port", "8080"]',
            "IM5",
            "FAIL",
            "uvicorn takes `serve`",
        ),
        ('["python", "-m", "mine"]', '["python3", "-m", "hypercorn", "app:app"]', "IM5", "FAIL", "hypercorn"),
        ('"mine"]', '"mine", "serve"]', "IM5", "WARN", "a second time"),
        ('["python", "-m", "mine"]', '["uvicorn", "app:app"]', "IM6", "FAIL", "listens on 8000"),
        ('["python", "-m", "mine"]', '["gunicorn", "-b", "0.0.0.0:5000", "app"]', "IM6", "FAIL", "listens on 5000"),
        ("8080\n", "9000\n", "IM6", "WARN", "EXPOSE 9000"),
        ("EXPOSE 8080", "", "IM6", "WARN", "no EXPOSE"),
        ("EXPOSE", "USER app\nEXPOSE", "IM7", "WARN", "USER app"),
        ("2.13.0", "2.9.1", "IM9", "WARN", "torch 2.9.1"),
        ("torch==2.13.0", "torch", "IM9", "N/A", "pins no torch"),
    ],
)
def test_one_line_of_a_dockerfile(tmp_path: Path, old: str, new: str, check: str, status: str, words: str) -> None:
    assert old in GOOD
    (verdict,) = [each for each in judge_image(dockerfile(tmp_path, GOOD.replace(old, new))) if each.id == check]
    assert str(verdict.status) == status, verdict
    assert words in verdict.worst.observed
    if status in {"FAIL", "WARN"}:
        assert verdict.worst.fix is not None
        assert verdict.worst.causes or check == "IM1"
        assert verdict.stake in " ".join(render(verdict).split())


def test_an_unknown_base_may_have_the_entrypoint(tmp_path: Path) -> None:
    text = GOOD.replace("python:3.12-slim", "mycompany/tts-base").replace("ENTRYPOINT", "# ENTRYPOINT")
    (verdict,) = [each for each in judge_image(dockerfile(tmp_path, text)) if each.id == "IM4"]
    assert str(verdict.status) == "WARN"
    assert "mycompany/tts-base" in verdict.worst.observed


def test_stages_arguments_and_continued_lines(tmp_path: Path) -> None:
    text = """
# escape=\\
ARG BASE=python:3.12-slim
FROM ${BASE} AS base
ENV PORT=8080
LABEL a=b \\
      # in between
      LABEL_NAME=true
ENTRYPOINT ["python", "-m", "mine"]
CMD ["other"]

FROM base AS tests
LABEL LABEL_NAME=false
USER tester
RUN <<EOF
ENTRYPOINT python -m nothing
EOF

FROM base
ARG TAG
EXPOSE $PORT 9000/udp
LABEL tag="${TAG:-none}"
""".replace("LABEL_NAME", LABEL)
    image = dockerfile(tmp_path, text, BASE="debian:13")
    assert image.base == "debian:13"
    assert image.labels == {"a": "b", LABEL: "true", "tag": "none"}
    assert image.entrypoint == ("python", "-m", "mine")
    assert (image.command, image.ports, image.user) == (("other",), ("8080/tcp", "9000/udp"), "")
    tests = read_dockerfile(tmp_path / "Dockerfile", stage="tests")
    assert (tests.labels[LABEL], tests.user) == ("false", "tester")
    with pytest.raises(ImageError, match="no stage 'release' \\(stages: base, tests\\)"):
        read_dockerfile(tmp_path / "Dockerfile", stage="release")


@pytest.mark.parametrize(("engine", "status"), [("onnx", "N/A"), ("torch", "PASS")])
def test_the_dockerfile_of_this_repository(engine: str, status: str) -> None:
    image = read_dockerfile(ROOT / "container" / "kokoro" / "Dockerfile", {"ENGINE": engine})
    seen = statuses(image)
    assert {seen[check] for check in ("IM1", "IM4", "IM5", "IM6", "IM7")} == {"PASS"}
    assert seen["IM9"] == status  # its requirements pin torch


def test_a_docker_save_archive(tmp_path: Path) -> None:
    config = json.dumps(CONFIG).encode()
    manifest = [{"Config": "c.json", "RepoTags": ["tts:1"], "Layers": ["l/layer.tar"]}]
    files = {
        "manifest.json": json.dumps(manifest).encode(),
        "c.json": config,
        "l/layer.tar": layer("usr/lib/python3/site-packages/torch-2.10.0+cu128.dist-info/METADATA", packed=False),
        # as docker 25 writes it: it says nothing about what is pushed
        "index.json": json.dumps({"manifests": [{"mediaType": OCI}]}).encode(),
    }
    image = read_archive(written(tmp_path / "image.tar", files))
    assert "tts:1" in image.name
    assert image.torch == "2.10.0"
    expected = dict.fromkeys((check.id for check in IMAGE_CHECKS), "PASS")
    assert statuses(image) == expected | {"IM3": "N/A", "IM9": "WARN"}


@pytest.mark.parametrize(
    ("media_type", "index", "architecture", "failing"),
    [
        (DOCKER, False, "amd64", set()),
        (OCI, False, "amd64", {"IM3"}),
        (INDEX, True, "amd64", {"IM3"}),
        (DOCKER, False, "arm64", {"IM2"}),
        (INDEX, True, "arm64", {"IM2", "IM3"}),
    ],
)
def test_an_oci_layout(tmp_path: Path, media_type: str, index: bool, architecture: str, failing: set[str]) -> None:
    config = {**CONFIG, "architecture": architecture}
    path = oci(tmp_path / "image.tar", media_type, config, "opt/torch-2.13.1.dist-info/METADATA", index=index)
    seen = statuses(read_archive(path))
    assert {check for check, status in seen.items() if status == "FAIL"} == failing
    assert seen["IM9"] == "PASS"
    assert seen["IM8"] == "PASS"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"readme": b"x"}, "neither manifest.json"),
        ({"manifest.json": b"[]"}, "no image"),
        ({"manifest.json": b"{"}, "manifest.json is no JSON"),
        ({"manifest.json": b'[{"Config": "gone.json", "Layers": []}]'}, "gone.json is missing"),
        ({"index.json": b'{"manifests": []}'}, "names 0 images"),
    ],
)
def test_a_damaged_archive(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(ImageError, match=words) as caught:
        read_archive(written(tmp_path / "image.tar", files))
    assert "docker save" in str(caught.value)


def test_what_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"no tar" * 200)
    with pytest.raises(ImageError, match="no readable tar archive"):
        read_archive(tmp_path / "image.tar")
    with pytest.raises(ImageError, match="No such file"):
        read_archive(tmp_path / "nothing.tar")
    (tmp_path / "Dockerfile").write_text("# nothing\n", "utf-8")
    with pytest.raises(ImageError, match="holds no FROM"):
        read_dockerfile(tmp_path / "Dockerfile")


def test_an_image_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = {
        "Architecture": "arm64",
        "Os": "linux",
        "Size": 20 * 10**9,
        "Config": {**CONFIG["config"], "User": "1000:1"},
    }
    images = SimpleNamespace(get=lambda name: SimpleNamespace(attrs=attributes if name == "tts:1" else None))
    client = SimpleNamespace(images=images, close=lambda: None)
    monkeypatch.setattr("docker.from_env", lambda timeout: client)  # noqa: ARG005 - as the docker SDK names it
    image = read_image("tts:1")
    assert image.name == "image:tts:1"
    seen = statuses(image)
    assert {check for check, status in seen.items() if status not in {"PASS", "N/A"}} == {"IM2", "IM7", "IM8"}
    assert seen["IM9"] == "N/A"


def test_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # docker's client leaves its socket to the garbage collector
        with pytest.raises(ImageError, match="no container engine answers"):
            read_image("tts:1")
        gc.collect()
