"""Each preflight refuses what would fail on AWS, and says what to do."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy import pins, preflight
from deploy.docker import Docker
from deploy.errors import DeployError
from deploy.images import DOCKER_MANIFEST, Image
from deploy.preflight import CUDA_LABEL, TORCH_LABEL, Check
from deploy.settings import BIDI_LABEL, Settings, SettingsError
from deploy.stacks import Stack

GOOD = Image(
    "sha256:" + "a" * 64,
    DOCKER_MANIFEST,
    os="linux",
    architecture="amd64",
    entrypoint=["python", "-m", "container.kokoro"],
    labels={BIDI_LABEL: "true", TORCH_LABEL: "2.15.0", CUDA_LABEL: "13.2"},
)
SETTINGS = Settings("123456789012", "us-east-1")


def failed(checks: list[Check]) -> list[str]:
    assert all(check.fix for check in checks if check.level == "fail"), "a refusal says what to do"
    return [check.name for check in checks if check.level == "fail"]


def test_a_good_image_passes() -> None:
    assert failed(preflight.speech_image(GOOD)) == []


@pytest.mark.parametrize(
    ("image", "names"),
    [
        (replace(GOOD, media_type="application/vnd.oci.image.manifest.v1+json"), ["manifest"]),
        (replace(GOOD, media_type="application/vnd.oci.image.index.v1+json"), ["manifest"]),
        (replace(GOOD, architecture="arm64"), ["architecture"]),
        (replace(GOOD, os="", architecture=""), ["architecture"]),
        (replace(GOOD, labels={}), ["label"]),
        (replace(GOOD, labels=GOOD.labels | {BIDI_LABEL: "yes"}), ["label"]),
        (replace(GOOD, entrypoint=[]), ["entrypoint"]),
        (replace(GOOD, entrypoint=["/bin/sh", "-c", "serve"]), ["entrypoint"]),
        (replace(GOOD, user="app"), ["user"]),
        (replace(GOOD, labels=GOOD.labels | {TORCH_LABEL: "2.10.0"}), ["torch"]),
    ],
)
def test_an_image_that_sagemaker_would_not_run(image: Image, names: list[str]) -> None:
    assert failed(preflight.speech_image(image)) == names


def test_the_agents_image_is_one_arm64_image() -> None:
    arm = replace(GOOD, architecture="arm64", media_type="application/vnd.oci.image.manifest.v1+json")
    assert failed(preflight.agent_image(arm)) == []
    assert failed(preflight.agent_image(GOOD)) == ["architecture"]
    index = replace(arm, media_type="application/vnd.oci.image.index.v1+json")
    assert failed(preflight.agent_image(index)) == ["manifest"]


@pytest.mark.parametrize(
    ("ami", "cuda", "level"),
    [
        ("al2023-ami-sagemaker-inference-gpu-4-1", "13.2", "ok"),
        ("al2023-ami-sagemaker-inference-gpu-4-1", None, "ok"),
        ("al2023-ami-sagemaker-inference-gpu-4-1", "12.8", "fail"),
        ("al2-ami-sagemaker-inference-gpu-3-1", "13.0", "fail"),
        ("al2-ami-sagemaker-inference-gpu-3-1", "12.8", "ok"),
    ],
)
def test_driver_and_cuda_have_the_same_major_version(ami: str, cuda: str | None, level: str) -> None:
    check = preflight.ami(SETTINGS.changed(ami=ami), cuda)
    assert check.level == level
    if level == "fail":
        assert "--ami al2" in check.fix


def test_a_newer_cuda_on_an_older_driver_says_why_that_is_in_order() -> None:
    driver = SETTINGS.ami
    newer, same = (str(preflight.ami(SETTINGS.changed(ami=driver), cuda)) for cuda in ("13.2", "13.0"))
    assert newer.endswith("(CUDA 13.0) for an image with CUDA 13.2: a driver for CUDA 13.0 runs every 13.x")
    assert same.endswith("for an image with CUDA 13.0")


BUILDX = "github.com/docker/buildx v0.30.1 abcdef"


@pytest.mark.parametrize(
    ("found", "said", "fix"),
    [
        (Docker(), "docker: not on PATH", "Install Docker with buildx"),
        (Docker("docker", "", ""), "docker: it has no buildx", "docker-buildx-plugin"),
        (Docker("docker", "", "down"), "it has no buildx, and its engine does not answer (down)", "docker-buildx"),
        (Docker("docker", "github.com/docker/buildx v0.9.1 ed00243", ""), "v0.9.1 ed00243 is too old, 0.10", "plugin"),
        (Docker("docker", BUILDX, "Cannot connect"), "engine does not answer (Cannot connect)", "systemctl start"),
    ],
)
def test_a_docker_that_cannot_build(found: Docker, said: str, fix: str) -> None:
    needed, note = (preflight.docker(found, needed=needed) for needed in (True, False))
    assert (needed.level, note.level) == ("fail", "note")
    for check in (needed, note):
        assert said in str(check)
        assert fix in str(check).splitlines()[1]
    assert "none is built now" in note.said


@pytest.mark.parametrize(
    "said", [BUILDX, "github.com/docker/buildx v1.0.0", "github.com/docker/buildx v0.0.0+unknown", "buildah 1.43.0"]
)
def test_a_docker_that_can_build(said: str) -> None:
    assert preflight.docker(Docker("docker", said, ""), needed=True).level == "ok"


TORCH, ONNX = GOOD, replace(GOOD, labels={BIDI_LABEL: "true"})


@pytest.mark.parametrize(
    ("instance", "wanted", "image", "told"),
    [
        ("ml.c7i.2xlarge", "torch", None, "which has no GPU.*Give --engine onnx"),
        ("ml.c7i.2xlarge", "onnx", TORCH, "which has no GPU.*'speech-infra image push --engine onnx'"),
        ("ml.g5.xlarge", "onnx", TORCH, "the image holds torch.*'speech-infra image push --engine onnx'"),
        ("ml.c7i.2xlarge", "onnx", None, ""),
        ("ml.c7i.2xlarge", "torch", ONNX, ""),
        ("ml.g5.xlarge", "torch", TORCH, ""),
        ("ml.g5.xlarge", "torch", None, ""),
    ],
)
def test_an_engine_that_does_not_fit_the_instance_is_noted(
    instance: str, wanted: str, image: Image | None, told: str
) -> None:
    check = preflight.engine(SETTINGS.changed(instance_type=instance), wanted, image)
    assert check.level == ("note" if told else "ok")
    assert re.search(told, str(check), re.DOTALL)


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        (None, "does not exist"),
        (Stack("speech-endpoint", "ROLLBACK_COMPLETE", "", {}), "is ROLLBACK_COMPLETE"),
    ],
)
def test_the_agent_needs_an_endpoint(stack: Stack | None, told: str) -> None:
    check = preflight.endpoint(stack, needed=True)
    assert check.level == "fail"
    assert told in check.said
    assert "'speech-infra deploy'" in check.fix
    assert preflight.endpoint(stack, needed=False).level == "note"


def test_no_driver_where_there_is_no_gpu() -> None:
    settings = SETTINGS.changed(instance_type="ml.c7i.2xlarge", ami="al2-ami-sagemaker-inference-gpu-2")
    assert preflight.ami(settings, "13.0").level == "ok"


@pytest.mark.parametrize(("allowed", "level"), [(None, "unknown"), (0, "fail"), (1, "fail"), (2, "ok")])
def test_the_quota(allowed: float | None, level: str) -> None:
    check = preflight.quota("ml.g5.xlarge", 2, allowed)
    assert check.level == level
    assert "ml.g5.xlarge for endpoint usage" in check.said


def test_a_quota_that_is_not_listed_is_not_called_unreadable() -> None:
    check = preflight.quota("ml.c7i.3xlarge", 1, None, read=True)
    assert check.level == "unknown"
    assert "is not among the account's quotas" in check.said
    assert "misspelt" in check.fix
    assert "could not be read (servicequotas:" in preflight.quota("ml.c7i.3xlarge", 1, None).said


@pytest.mark.parametrize(
    ("version", "level"), [("v24.1.0", "ok"), ("v22.0.0", "ok"), ("v20.20.2", "fail"), ("", "fail")]
)
def test_node(version: str, level: str) -> None:
    assert preflight.node(version).level == level


@pytest.mark.parametrize(("status", "level"), [("AUTHORIZED", "ok"), ("NOT_AUTHORIZED", "fail"), (None, "unknown")])
def test_access_to_the_model(status: str | None, level: str) -> None:
    assert preflight.model_access("a.model", status).level == level


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"runtime_name": "speech-agent"}, "takes no dash"),
        ({"endpoint_name": "-speech"}, "no dash at either end"),
        ({"ami": "al2023"}, "InferenceAmiVersion"),
        ({"instance_type": "g5.xlarge"}, "ml.g5.xlarge"),
        ({"image_digest": "latest"}, "a tag can change"),
        ({"model_data": "models/kokoro-82m/1"}, "last slash"),
        ({"startup_timeout": 59}, "60 to 3600"),
        ({"max_instances": 3}, "a measured load"),
        ({"instances": 2, "max_instances": 1, "sessions_per_instance": 1}, "not below"),
        (
            {"environment": (("KOKORO_LOG", "1"), ("HF_TOKEN", "x"))},
            "HF_TOKEN cannot be deployed: expected is no secret",
        ),
        ({"environment": (("AWS_SECRET_ACCESS_KEY", "x"),)}, "no secret"),
        ({"account": "1"}, "12 digits"),
        ({"region": "Frankfurt"}, "us-east-1"),
    ],
)
def test_values_that_cannot_be_deployed(values: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        SETTINGS.changed(**values)


def test_pins_say_which_cuda_an_image_holds(tmp_path: Path) -> None:
    held = tmp_path / "requirements.txt"
    held.write_text(
        "nvidia-cuda-runtime==13.2.51 ; sys_platform == 'linux' \\\n    --hash=sha256:" + "1" * 64 + "\n"
        "torch==2.15.0 \\\n    --hash=sha256:" + "2" * 64 + " \\\n    --hash=sha256:" + "3" * 64 + "\n"
    )
    found = pins.read(held)
    assert [pin.version for pin in found] == ["13.2.51", "2.15.0"]
    assert found[0].marker == "sys_platform == 'linux'"
    assert [len(pin.hashes) for pin in found] == [1, 2]
    assert pins.cuda_of(found) == "13.2"
    assert pins.cuda_of(found[1:]) == "13.0"
    assert pins.cuda_of([pins.Pin("torch", "2.10.0")]) == "12.8"
    assert pins.cuda_of([]) is None
    with pytest.raises(DeployError, match="cannot be read"):
        pins.read(tmp_path / "none")


def test_the_pins_of_this_repository_are_above_the_floor_and_fit_the_usual_driver() -> None:
    held = pins.read(pins.root() / "container" / "kokoro" / "requirements-torch.txt")
    assert preflight.torch(pins.version_of(held, "torch")).level == "ok"
    assert preflight.ami(SETTINGS, pins.cuda_of(held)).level == "ok"
