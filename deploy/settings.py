"""What to deploy: the values that the stacks are made from."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Self

__all__ = [
    "AGENT_REPOSITORY",
    "AGENT_STACK",
    "AMIS",
    "BIDI_LABEL",
    "DIGEST",
    "ENDPOINT_STACK",
    "FOUNDATION_STACK",
    "NO_DIGEST",
    "SPEECH_REPOSITORY",
    "VARIANT",
    "Settings",
    "SettingsError",
    "check_region",
]

FOUNDATION_STACK = "speech-foundation"
ENDPOINT_STACK = "speech-endpoint"
AGENT_STACK = "agent-runtime"
SPEECH_REPOSITORY = "speech/kokoro"
AGENT_REPOSITORY = "speech/agent"
VARIANT = "primary"
BIDI_LABEL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
NO_DIGEST = "sha256:" + "0" * 64
"""Stands for an image that is not pushed yet, so that the templates can be looked at; it is never deployed."""

AMIS = {
    "al2-ami-sagemaker-inference-gpu-2": "12.2",
    "al2-ami-sagemaker-inference-gpu-2-1": "12.2",
    "al2-ami-sagemaker-inference-gpu-3-1": "12.4",
    "al2023-ami-sagemaker-inference-gpu-4-1": "13.0",
}
"""InferenceAmiVersion to the CUDA version of its driver
(https://docs.aws.amazon.com/sagemaker/latest/dg/inference-gpu-drivers.html)."""

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""Of an image."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_INSTANCE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+")
_ENDPOINT = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_RUNTIME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,47}")
_MODEL_DATA = re.compile(r"models/[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+/")
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}")
_SECRET = re.compile(r"SECRET|TOKEN|PASSW|CREDENTIAL|PRIVATE|API_?KEY|ACCESS_?KEY", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"^(global|us|us-gov|eu|apac|jp|au|ca)\.(.+)$")


class SettingsError(Exception):
    """Raised when a value could not be deployed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of one deployment, checked as a whole.

    Raises:
        SettingsError: a value is not one that AWS takes; the message says which are.
    """

    account: str
    region: str
    endpoint_name: str = "speech-kokoro-82m"
    instance_type: str = "ml.g5.xlarge"
    ami: str = "al2023-ami-sagemaker-inference-gpu-4-1"
    image_digest: str = NO_DIGEST
    model_data: str | None = None
    """Key prefix of the weights in the bucket, with its last slash; None where they are in the image."""
    startup_timeout: int = 900
    """Seconds that the container may take to its first ``/ping``, and that the download of weights may take."""
    instances: int = 1
    max_instances: int | None = None
    """Autoscaling up to so many instances; None switches it off."""
    sessions_per_instance: float | None = None
    """What autoscaling aims at. To be measured, so there is no default."""
    first_audio_alarm_ms: float | None = None
    """Alarm where the 95th percentile is above it. To be measured, so there is no default."""
    alarm_topic: str | None = None
    runtime_name: str = "speech_agent"
    agent_digest: str = NO_DIGEST
    bedrock_model: str = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
    environment: tuple[tuple[str, str], ...] = ()
    """More variables for the speech container."""

    def __post_init__(self) -> None:
        _expect(re.fullmatch(r"\d{12}", self.account), f"account {self.account!r}", "12 digits")
        check_region(self.region)
        _expect(
            _ENDPOINT.fullmatch(self.endpoint_name),
            f"endpoint name {self.endpoint_name!r}",
            "1 to 63 letters, digits and dashes, with no dash at either end",
        )
        _expect(_INSTANCE.fullmatch(self.instance_type), f"instance type {self.instance_type!r}", "as ml.g5.xlarge")
        _expect(self.ami in AMIS, f"InferenceAmiVersion {self.ami!r}", f"one of {', '.join(AMIS)}")
        for digest in (self.image_digest, self.agent_digest):
            _expect(
                DIGEST.fullmatch(digest), f"image {digest!r}", "a digest, sha256: and 64 hex digits (a tag can change)"
            )
        _expect(
            self.model_data is None or _MODEL_DATA.fullmatch(self.model_data),
            f"model data {self.model_data!r}",
            "models/NAME/ID/ with the last slash, without which SageMaker copies nothing",
        )
        _expect(60 <= self.startup_timeout <= 3600, f"start-up time-out {self.startup_timeout}", "60 to 3600 seconds")
        _expect(self.instances >= 1, f"{self.instances} instances", "at least 1")
        _expect(
            _RUNTIME.fullmatch(self.runtime_name),
            f"runtime name {self.runtime_name!r}",
            "a letter, then up to 47 letters, digits and underscores: AgentCore takes no dash",
        )
        _expect(
            self.alarm_topic is None or _TOPIC.fullmatch(self.alarm_topic),
            f"alarm topic {self.alarm_topic!r}",
            "the ARN of an SNS topic, such as arn:aws:sns:us-east-1:123456789012:alarms",
        )
        alarm = self.first_audio_alarm_ms
        _expect(alarm is None or alarm > 0, f"an alarm on first audio above {alarm} ms", "more than 0")
        for name, _ in self.environment:
            _expect(
                not _SECRET.search(name),
                f"the variable {name}",
                "no secret: it would stand in the template and in DescribeModel, and a container without network "
                "needs none",
            )
        _expect(
            self.max_instances is not None or self.sessions_per_instance is None,
            f"{self.sessions_per_instance} sessions per instance, without autoscaling,",
            "--max-instances with --sessions-per-instance, which is what autoscaling aims at",
        )
        if self.max_instances is not None:
            _expect(
                self.max_instances >= self.instances, f"{self.max_instances} instances at most", "not below --instances"
            )
            _expect(
                self.sessions_per_instance is not None and self.sessions_per_instance > 0,
                "autoscaling without a measured load",
                "--sessions-per-instance from a load test of this endpoint",
            )

    @property
    def bucket(self) -> str:
        """Name of the bucket for the weights."""
        return f"speech-weights-{self.account}-{self.region}"

    @property
    def has_gpu(self) -> bool:
        """Whether the instance has a GPU, and so a driver to choose."""
        return self.instance_type.startswith(("ml.g", "ml.p"))

    @property
    def bedrock_foundation_model(self) -> str:
        """The model's id without the prefix of an inference profile (``us.``, ``eu.``, ...)."""
        found = _GEOGRAPHY.match(self.bedrock_model)
        return found[2] if found else self.bedrock_model

    @property
    def uses_inference_profile(self) -> bool:
        """Whether the model id names an inference profile."""
        return self.bedrock_foundation_model != self.bedrock_model

    def changed(self, **changes: Any) -> Self:
        """Return a copy with some values replaced."""
        return dataclasses.replace(self, **changes)


def check_region(region: str) -> None:
    """Refuse what cannot be a region.

    Raises:
        SettingsError: it cannot.
    """
    _expect(_REGION.fullmatch(region), f"region {region!r}", "such as us-east-1")


def _expect(holds: object, what: str, expected: str) -> None:
    if not holds:
        raise SettingsError(f"{what} cannot be deployed: expected is {expected}.")
