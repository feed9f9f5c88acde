"""Values that could not be deployed are refused before AWS is asked anything."""

from pathlib import Path

import pytest

from deploy.cloud import Cloud
from deploy.tests.terminal import Typed

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> Cloud:
        raise AssertionError("AWS was asked")

    monkeypatch.setattr(Cloud, "connect", connect)


@pytest.mark.parametrize("command", ["deploy", "diff"])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--image kokoro:latest", "--image kokoro:latest: expected is a digest, sha256: and 64 hex digits"),
        ("--image sha256:0123", "--image sha256:0123: expected is a digest"),
        ("--weights nonsense", "--weights nonsense: expected is auto, image, or a version"),
        ("--alarm-topic foo", "alarm topic 'foo' cannot be deployed: expected is the ARN of an SNS topic"),
        ("--sessions-per-instance 4", "expected is --max-instances with --sessions-per-instance"),
        ("--max-instances 3", "expected is --sessions-per-instance from a load test"),
        ("--first-audio-alarm-ms -1", "expected is more than 0"),
        ("--engine gpu", "--engine gpu: expected is torch or onnx."),
        ("--env KOKORO_LOG", "--env KOKORO_LOG: NAME=VALUE is expected"),
    ],
)
def test_a_value_that_cannot_be_deployed(typed: Typed, command: str, options: str, told: str) -> None:
    said = typed(f"speech-infra {command} {options}")
    assert said.startswith("error: ")
    assert told in said


@pytest.mark.parametrize("command", ["doctor", "doctor --advisories", "image push", "image sbom", "weights push"])
def test_an_engine_that_is_none(typed: Typed, command: str) -> None:
    assert typed(f"speech-infra {command} --engine gpu") == "error: --engine gpu: expected is torch or onnx.\n"


@pytest.mark.parametrize("command", ["deploy", "diff"])
def test_the_agents_image_is_named_by_digest_too(typed: Typed, command: str) -> None:
    assert "sha256: and 64 hex digits" in typed(f"agent-infra {command} --image agent:latest")


@pytest.mark.parametrize(
    "options",
    [
        f"--image {DIGEST} --weights 0123456789ab",
        "--weights image --engine onnx --instance-type ml.c7i.2xlarge",
        "--max-instances 3 --sessions-per-instance 4 --alarm-topic arn:aws:sns:us-east-1:123456789012:alarms",
        "--alarm-topic arn:aws-cn:sns:cn-north-1:123456789012:alarms",
    ],
)
def test_what_can_be_deployed_is_asked_for(typed: Typed, options: str) -> None:
    with pytest.raises(AssertionError, match="AWS was asked"):
        typed(f"speech-infra deploy {options}")


def test_the_list_of_an_image_is_written(typed: Typed, tmp_path: Path) -> None:
    assert "packages" in typed("speech-infra image sbom --engine onnx", str(tmp_path / "x.json"), expected=0)


def test_the_hub_has_the_weights_of_one_engine(typed: Typed) -> None:
    said = typed("speech-infra weights push --hub --engine onnx")
    assert said == "error: --hub has the weights of torch only: leave out --hub, or give --engine torch.\n"


def test_a_price_is_asked_for_an_instance_type_that_can_be_deployed(typed: Typed) -> None:
    assert "instance type 'ml.nonsense' cannot be deployed" in typed("speech-infra cost --instance-type ml.nonsense")
    assert "an unknown price" in typed("speech-infra cost --instance-type ml.g9.xlarge", expected=0)


@pytest.mark.parametrize("tool", ["speech-infra", "agent-infra"])
def test_templates_go_where_something_can_be_written(typed: Typed, tool: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("/proc/nowhere", str(tmp_path / "file"), str(tmp_path / "file" / "below")):
        assert typed(f"{tool} synth {folder}").startswith(f"error: Nothing can be written to {folder} (")
