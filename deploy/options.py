"""Options of the console scripts; a value that could not be deployed is refused as it is read, before anything else."""

import re
from typing import Annotated

import typer

from deploy.errors import DeployError
from deploy.settings import DIGEST

__all__ = [
    "Alarm",
    "Ami",
    "Digest",
    "Endpoint",
    "Engine",
    "Environment",
    "Instance",
    "Instances",
    "MaxInstances",
    "Minutes",
    "Sessions",
    "Topic",
    "Weights",
    "pairs",
]

_VERSION = re.compile(r"[0-9a-f]{12}")


def _digest(value: str | None) -> str | None:
    if value is None or DIGEST.fullmatch(value):
        return value
    raise DeployError(
        f"--image {value}: expected is a digest, sha256: and 64 hex digits (a tag can change). 'list' shows the newest "
        "one, and without --image that one is taken."
    )


def _engine(value: str) -> str:
    if value in ("torch", "onnx"):
        return value
    raise DeployError(f"--engine {value}: expected is torch or onnx.")


def _weights(value: str) -> str:
    if value in ("auto", "image") or _VERSION.fullmatch(value):
        return value
    raise DeployError(
        f"--weights {value}: expected is auto, image, or a version, 12 hex digits, that 'speech-infra weights push' "
        "has named. 'speech-infra list' shows them."
    )


def pairs(words: list[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of ``--env``.

    Raises:
        DeployError: one is not NAME=VALUE.
    """
    found = [word.partition("=") for word in words]
    wrong = [name for name, equals, _ in found if not equals or not name]
    if wrong:
        raise DeployError(f"--env {wrong[0]}: NAME=VALUE is expected.")
    return tuple((name, value) for name, _, value in found)


Digest = Annotated[
    str | None, typer.Option("--image", help="sha256:...; else the newest in the repository.", callback=_digest)
]
Endpoint = Annotated[str, typer.Option("--endpoint", help="Name of the endpoint.")]
Instance = Annotated[str, typer.Option("--instance-type")]
Instances = Annotated[int, typer.Option("--instances", min=1)]
Ami = Annotated[str, typer.Option("--ami", help="InferenceAmiVersion: the GPU driver.")]
Engine = Annotated[str, typer.Option("--engine", help="torch (GPU) or onnx (CPU).", callback=_engine)]
Weights = Annotated[
    str,
    typer.Option("--weights", help="auto, image, or a version that 'weights push' has named.", callback=_weights),
]
MaxInstances = Annotated[int | None, typer.Option("--max-instances", help="Autoscaling up to so many.")]
Sessions = Annotated[
    float | None, typer.Option("--sessions-per-instance", help="What autoscaling aims at: measure it first.")
]
Alarm = Annotated[
    float | None, typer.Option("--first-audio-alarm-ms", help="Alarm above this 95th percentile: measure it first.")
]
Topic = Annotated[str | None, typer.Option("--alarm-topic", help="ARN of an SNS topic for alarms.")]
Environment = Annotated[list[str] | None, typer.Option("--env", help="NAME=VALUE for the container; repeatable.")]
Minutes = Annotated[int, typer.Option("--minutes", min=1, max=1440, help="Look back so many minutes.")]
