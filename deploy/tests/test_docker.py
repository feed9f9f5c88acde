"""What docker says of itself, and what a command does about it before it makes or asks anything."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from deploy import docker, images, kept, stacks
from deploy.cloud import Cloud
from deploy.tests.terminal import Typed

_ANSWERS = {
    "whole": 'echo "github.com/docker/buildx v0.30.1 abcdef"',
    "no buildx": '[ "$1" = info ] || { echo "docker: unknown command: docker buildx" >&2; exit 1; }',
    "no engine": (
        '[ "$1" = buildx ] && { echo "github.com/docker/buildx v0.30.1"; exit; }\n'
        'echo "ERROR: Cannot connect to the Docker daemon" >&2; echo "errors pretty printing info" >&2; exit 1'
    ),
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a docker that writes down what it is asked for, and answers in one of the ways."""

    def install(kind: str) -> Path:
        program = tmp_path / "docker"
        program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n{_ANSWERS[kind]}\n')
        program.chmod(0o755)
        monkeypatch.setenv("DEPLOY_DOCKER", str(program))
        return tmp_path / "asked"

    return install


def test_a_whole_docker(installed: Any) -> None:
    asked = installed("whole")
    found = docker.look()
    assert found.builds
    assert (found.buildx, found.engine_problem) == ("github.com/docker/buildx v0.30.1 abcdef", "")
    assert asked.read_text().splitlines() == ["buildx version", "info"]


def test_a_docker_that_lacks_something(installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    installed("no buildx")
    found = docker.look()
    assert (found.buildx, found.engine_problem, found.builds) == ("", "", False)
    installed("no engine")
    found = docker.look()
    assert (found.builds, found.engine_problem) == (True, "Cannot connect to the Docker daemon")
    monkeypatch.setenv("DEPLOY_DOCKER", "no-such-docker")
    assert docker.look() == docker.Docker()


class Account:
    """An account with nothing in it; every change is refused."""

    class exceptions:  # noqa: N801  # boto3's name
        RepositoryNotFoundException = ClientError

    def __getattr__(self, operation: str) -> Any:
        if operation == "get_foundation_model_availability":
            return lambda **_: {"authorizationStatus": "AUTHORIZED"}
        raise AssertionError(f"{operation} was asked for")

    def get_paginator(self, _: str) -> Any:
        return type("Pages", (), {"paginate": lambda _, **__: [{"Quotas": [], "imageDetails": []}]})()


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(region: str | None = None) -> Cloud:
        cloud = Cloud(None, "123456789012", region or "us-east-1", rehearsal=False)
        monkeypatch.setattr(cloud, "client", lambda _: Account())
        monkeypatch.setattr(cloud, "close", lambda: None)
        return cloud

    monkeypatch.setattr(Cloud, "connect", connect)
    monkeypatch.setattr(stacks, "find", lambda *_: None)
    monkeypatch.setattr(kept, "has_bucket", lambda *_: False)


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(
    "line", ["speech-infra deploy", "speech-infra doctor", "speech-infra image push", "agent-infra image push"]
)
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("no buildx", "FAIL docker: it has no buildx, and an image is to be built"),
        ("no engine", "FAIL docker: its engine does not answer (Cannot connect to the Docker daemon)"),
    ],
)
def test_what_builds_nothing_is_told_before_anything_is_made_or_asked(
    typed: Typed, installed: Any, line: str, kind: str, told: str
) -> None:
    asked = installed(kind)
    said = typed(line)
    assert told in said
    assert "Deploy?" not in said
    assert "Not in order: docker" in said
    assert asked.read_text().splitlines() == ["buildx version", "info"]


@pytest.mark.usefixtures("empty")
def test_the_agents_tool_looks_at_docker_and_endpoint_before_it_asks(typed: Typed, installed: Any) -> None:
    installed("whole")
    said = typed("agent-infra deploy")
    assert "FAIL endpoint: the stack speech-endpoint does not exist" in said
    assert "Deploy?" not in said
    said = typed("agent-infra doctor", expected=0)
    assert "note endpoint: the stack speech-endpoint does not exist" in said
    assert "ok   docker: github.com/docker/buildx v0.30.1" in said
    installed("no engine")
    assert "FAIL docker: its engine does not answer" in typed("agent-infra doctor")


@pytest.mark.usefixtures("empty")
def test_weights_that_are_not_there_are_told_before_anything_is_made_or_asked(typed: Typed, installed: Any) -> None:
    installed("whole")
    said = typed("speech-infra deploy --weights 0123456789ab")
    assert "FAIL weights: no version 0123456789ab" in said
    assert "Deploy?" not in said


@pytest.mark.usefixtures("empty")
def test_a_torch_image_for_a_cpu_is_noted_before_the_question(typed: Typed, installed: Any) -> None:
    installed("whole")
    said = typed("speech-infra deploy --instance-type ml.c7i.2xlarge", expected=2)
    assert "which has no GPU" in said.partition("Deploy?")[0]
    assert "Give --engine onnx" in said
    said = typed("speech-infra doctor --instance-type ml.c7i.2xlarge --engine onnx", expected=0)
    assert "ok   engine: onnx" in said


@pytest.mark.usefixtures("empty")
def test_an_image_that_is_not_there_is_told_before_anything_is_made_or_asked(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = ClientError({"Error": {"Code": "RepositoryNotFoundException"}}, "BatchGetImage")

    def read(*_: object) -> images.Image:
        raise refusal

    monkeypatch.setattr(images, "_read", read)
    said = typed(f"speech-infra deploy --image sha256:{'a' * 64}")
    assert "There is no repository speech/kokoro yet" in said
    assert "Deploy?" not in said
