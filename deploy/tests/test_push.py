"""What docker is asked for, and what is said where it cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy import images, preflight, push
from deploy.cloud import Cloud
from deploy.errors import DeployError


class _Registry:
    """ECR, as far as a push needs it."""

    class exceptions:  # noqa: N801  # boto3's name
        class ImageNotFoundException(Exception):  # noqa: N818
            pass

    def __init__(self, *, has_it: bool) -> None:
        self._has_it = has_it

    def get_authorization_token(self) -> Any:
        return {"authorizationData": [{"authorizationToken": "QVdTOnNlc2FtZQ=="}]}  # AWS:sesame

    def describe_images(self, **_: Any) -> Any:
        if not self._has_it:
            raise self.exceptions.ImageNotFoundException
        return {"imageDetails": [{"imageDigest": "sha256:1"}]}


def cloud(*, has_it: bool = True) -> Cloud:
    made = Cloud(None, "123456789012", "us-east-1", rehearsal=False)
    made._clients["ecr"] = _Registry(has_it=has_it)  # noqa: SLF001
    return made


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker that writes down what it is asked for; it fails at what the file "fails" names."""
    program = tmp_path / "docker"
    log = tmp_path / "log"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\n[ "$1" = login ] && cat >> {tmp_path}/password\n'
        f'[ "$1" != "$(cat {tmp_path}/fails 2>/dev/null)" ]\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("DEPLOY_DOCKER", str(program))
    return log


def test_the_speech_image_is_built_in_the_form_that_sagemaker_takes(docker: Path) -> None:
    assert push.push(cloud(), push.speech_recipe("torch")) == "sha256:1"
    build, login, pushed, logout = docker.read_text().splitlines()
    assert build.startswith("buildx build --provenance=false --sbom=false --platform linux/amd64 --output type=docker ")
    assert "--build-arg ENGINE=torch" in build
    assert f"--label {preflight.TORCH_LABEL}=2." in build
    assert f"--label {preflight.CUDA_LABEL}=13." in build
    assert login == "login --username AWS --password-stdin 123456789012.dkr.ecr.us-east-1.amazonaws.com"
    assert pushed.startswith("push 123456789012.dkr.ecr.us-east-1.amazonaws.com/speech/kokoro:20")
    assert logout.startswith("logout 123456789012")
    assert (docker.parent / "password").read_text() == "sesame"


def test_the_image_without_torch_claims_none(docker: Path) -> None:
    push.push(cloud(), push.speech_recipe("onnx"))
    assert preflight.TORCH_LABEL not in docker.read_text()


def test_the_agents_image_is_built_without_emulation(docker: Path) -> None:
    push.push(cloud(), push.agent_recipe())
    assert "--platform" not in docker.read_text().splitlines()[0]
    assert "ARG PLATFORM=linux/arm64" in push.agent_recipe().dockerfile.read_text("utf-8")


@pytest.mark.parametrize(("fails", "commands"), [("buildx", 1), ("login", 2), ("push", 4)])
def test_docker_fails(docker: Path, fails: str, commands: int) -> None:
    (docker.parent / "fails").write_text(fails)
    with pytest.raises(DeployError, match=f"docker {fails} failed with status 1"):
        push.push(cloud(), push.speech_recipe("torch"))
    assert len(docker.read_text().splitlines()) == commands  # signed out again where it was signed in


def test_there_is_no_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_DOCKER", "no-such-docker")
    with pytest.raises(DeployError, match="docker is not on PATH"):
        push.push(cloud(), push.speech_recipe("torch"))


def test_the_image_went_elsewhere(docker: Path) -> None:
    assert docker
    with pytest.raises(DeployError, match="does not have it"):
        push.push(cloud(has_it=False), push.speech_recipe("torch"))


def test_a_registry_is_read_over_https_only() -> None:
    with pytest.raises(DeployError, match="https is expected"):
        images._fetch("ftp://example.com/config")  # noqa: SLF001
    data = "data:application/json," + json.dumps({"os": "linux"}).replace('"', "%22").replace(" ", "")
    assert images._fetch(data)["os"] == "linux"  # noqa: SLF001
