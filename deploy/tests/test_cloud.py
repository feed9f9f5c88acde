"""What is said where AWS cannot be asked: each with the remedy that fits."""

from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError

from deploy.cloud import Cloud
from deploy.tests.terminal import Typed


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of somebody who has configured nothing; the file of their AWS command line."""
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED"):  # set again by a command
        monkeypatch.setenv(name, "")
    config = tmp_path / "config"
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return config


@pytest.mark.parametrize("command", ["speech-infra doctor", "agent-infra doctor", "speech-infra synth"])
def test_what_is_no_region(typed: Typed, command: str) -> None:
    said = typed(command, "--region", "us east 1")
    assert said == "error: region 'us east 1' cannot be deployed: expected is such as us-east-1.\n"


@pytest.mark.parametrize(
    ("region", "told"),
    [
        ("us-esat-1", r"Is the region us-esat-1 misspelt? boto3 does not know it; near it are us-"),
        ("eu-west-1", "Is there a proxy or a firewall in between?"),
    ],
)
def test_a_region_that_does_not_answer(typed: Typed, monkeypatch: pytest.MonkeyPatch, region: str, told: str) -> None:
    def client(cloud: Cloud, _: str) -> object:
        raise EndpointConnectionError(endpoint_url=f"https://sts.{cloud.region}.amazonaws.com/")

    monkeypatch.setattr(Cloud, "client", client)
    said = typed(f"speech-infra doctor --region {region}")
    assert told in said
    assert ("us-east-1" in said) is (region == "us-esat-1")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[profile mine]\nregion = us-east-1\n[profile work]\n", "There are mine, work."),
        ("", "There are none: 'aws configure sso' makes one."),
    ],
)
def test_a_profile_that_does_not_exist(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, configuration: Path, text: str, told: str
) -> None:
    configuration.write_text(text)
    monkeypatch.setenv("AWS_PROFILE", "nope")
    said = typed("speech-infra doctor --region us-east-1")
    assert said.startswith("error: AWS_PROFILE=nope: there is no such profile")
    assert said.endswith(f"{told}\n")


def test_a_configuration_that_cannot_be_read(typed: Typed, configuration: Path) -> None:
    configuration.write_text("[default\nregion")
    said = typed("speech-infra doctor --region us-east-1")
    assert said.startswith(f"error: {configuration} cannot be read")
    assert "Sign in" not in said


def test_nobody_is_signed_in(typed: Typed) -> None:
    said = typed("speech-infra doctor --region us-east-1")
    assert "AWS does not know you: Unable to locate credentials. Sign in ('aws sso login'" in said


def test_weights_are_not_converted_for_nobody(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def packaged(*_: str) -> dict[str, Path]:
        raise AssertionError("weights were converted")

    monkeypatch.setattr("deploy.weights.packaged", packaged)
    for options in ("", "--hub", "--engine onnx"):
        assert "AWS does not know you" in typed(f"speech-infra weights push --region us-east-1 {options}")
