"""Build an image and push it to its repository, in the form that its service takes."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from deploy import docker, pins, sbom
from deploy.cloud import Cloud
from deploy.errors import DeployError
from deploy.preflight import CUDA_LABEL, TORCH_LABEL
from deploy.settings import AGENT_REPOSITORY, SPEECH_REPOSITORY

__all__ = ["Recipe", "agent_recipe", "held", "push", "speech_recipe"]

_EXTRAS = ("espeak", "languages", "mp3")
_BUILD_LIMIT, _PUSH_LIMIT, _SHORT_LIMIT = 3600, 3600, 120


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an image is built."""

    repository: str
    dockerfile: Path
    platform: str | None
    """Given to docker; None where the Dockerfile itself builds for the right one."""
    arguments: Mapping[str, str]
    labels: Mapping[str, str]


def speech_recipe(engine: str) -> Recipe:
    """Return how the speech image is built; its labels say which torch and CUDA it holds."""
    folder = pins.root() / "container" / "kokoro"
    held = pins.read(folder / f"requirements-{engine}.txt")
    labels = {TORCH_LABEL: pins.version_of(held, "torch"), CUDA_LABEL: pins.cuda_of(held)}
    return Recipe(
        SPEECH_REPOSITORY,
        folder / "Dockerfile",
        "linux/amd64",
        {"ENGINE": engine},
        {name: value for name, value in labels.items() if value is not None},
    )


def agent_recipe() -> Recipe:
    """Return how the agent's image is built."""
    return Recipe(AGENT_REPOSITORY, pins.root() / "container" / "agent" / "Dockerfile", None, {}, {})


def held(image: Literal["speech", "agent"], engine: str = "torch", *, optional: bool = False) -> list[pins.Pin]:
    """Return the packages that are installed in an image; ``optional`` adds those that a build may be told to install.

    Raises:
        DeployError: its requirements cannot be read.
    """
    folder = pins.root() / "container" / ("agent" if image == "agent" else "kokoro")
    machine = "aarch64" if image == "agent" else "x86_64"
    first = folder / ("requirements.txt" if image == "agent" else f"requirements-{engine}.txt")
    others = [folder / f"requirements-{name}.txt" for name in _EXTRAS] if optional else []
    found = [pin for path in [first, *filter(Path.is_file, others)] for pin in pins.read(path)]
    return list({(pin.name, pin.version): pin for pin in found if sbom.applies(pin, machine)}.values())


def push(cloud: Cloud, recipe: Recipe) -> str:
    """Build and push; returns the digest.

    Raises:
        DeployError: docker is missing or failed, or the registry has no image afterwards.
    """
    if not recipe.dockerfile.is_file():
        raise DeployError(f"{recipe.dockerfile} does not exist.")
    address = cloud.registry(recipe.repository)
    tag = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")  # the repository takes no tag twice
    build = ["buildx", "build", "--provenance=false", "--sbom=false"]
    build += ["--platform", recipe.platform] if recipe.platform else []
    build += ["--output", "type=docker", "--file", str(recipe.dockerfile), "--tag", f"{address}:{tag}"]
    build += [word for name, value in recipe.arguments.items() for word in ("--build-arg", f"{name}={value}")]
    build += [word for name, value in recipe.labels.items() for word in ("--label", f"{name}={value}")]
    docker.run([*build, str(pins.root())], _BUILD_LIMIT)
    registry = address.partition("/")[0]
    token = cloud.client("ecr").get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    docker.run(["login", "--username", user, "--password-stdin", registry], _SHORT_LIMIT, said=password)
    try:
        docker.run(["push", f"{address}:{tag}"], _PUSH_LIMIT)
    finally:
        docker.run(["logout", registry], _SHORT_LIMIT)
    return _digest(cloud, recipe.repository, tag)


def _digest(cloud: Cloud, repository: str, tag: str) -> str:
    client = cloud.client("ecr")
    try:
        details = client.describe_images(repositoryName=repository, imageIds=[{"imageTag": tag}])["imageDetails"]
    except client.exceptions.ImageNotFoundException:
        raise DeployError(
            f"docker pushed {repository}:{tag}, and the registry does not have it. Is it another account's?"
        ) from None
    digest: str = details[0]["imageDigest"]
    return digest
