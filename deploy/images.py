"""Images as the registry has them: what SageMaker and AgentCore will find, seen before anything is created."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.request import urlopen

from deploy.errors import DeployError
from deploy.settings import AGENT_REPOSITORY

__all__ = ["DOCKER_MANIFEST", "Clients", "Image", "inspect", "labels", "newest"]

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
"""The only manifest that SageMaker takes (https://github.com/aws/amazon-sagemaker-feedback/issues/180)."""
_MANIFESTS = [
    DOCKER_MANIFEST,
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
]
_LARGEST_CONFIG = 4_000_000
_ADDRESS = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?/(?P<repository>[^:@]+)"
    r"(?::(?P<tag>[^@]+))?(?:@(?P<digest>.+))?"
)


class Clients(Protocol):
    """Whoever has boto3 clients by service."""

    def client(self, service: str, /) -> Any:
        """Return one."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image by digest. ``size`` is that of its compressed layers, in bytes."""

    digest: str
    media_type: str
    size: int = 0
    os: str = ""
    architecture: str = ""
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


def newest(cloud: Clients, repository: str) -> str | None:
    """Return the digest of the image that was pushed last, None where the repository is empty.

    Raises:
        DeployError: there is no such repository.
    """
    client = cloud.client("ecr")
    try:
        pages = client.get_paginator("describe_images").paginate(repositoryName=repository)
        details = [detail for page in pages for detail in page["imageDetails"]]
    except client.exceptions.RepositoryNotFoundException:
        raise DeployError(f"There is no repository {repository} yet: 'speech-infra deploy' makes it.") from None
    # parts of a multi-platform image have no tag
    tagged = [detail for detail in details if detail.get("imageTags")] or details
    return max(tagged, key=lambda detail: detail["imagePushedAt"])["imageDigest"] if tagged else None


def inspect(cloud: Clients, repository: str, digest: str) -> Image:
    """Return what the registry has under a digest; for an image of another form only its manifest's type.

    Raises:
        DeployError: it is not there, or its configuration cannot be read.
    """
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    try:
        return _read(cloud.client("ecr"), {"repositoryName": repository}, {"imageDigest": digest})
    except ClientError as error:
        if error.response["Error"]["Code"] != "RepositoryNotFoundException":
            raise
        raise DeployError(
            f"There is no repository {repository} yet, and so no image {digest}. '{_tool(repository)} deploy' without "
            "--image makes it and builds an image. To push one by other means, make it with 'aws ecr create-repository "
            f"--repository-name {repository}': a deployment takes in what is there."
        ) from None


def labels(cloud: Clients, address: str) -> Mapping[str, str]:
    """Return the labels of an image by its whole address in ECR, with a digest, a tag, or neither (``latest``).

    Raises:
        DeployError: another registry, no permission, no such image, or an index of several images.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise DeployError(
            f"{address or 'The image'} is in no ECR repository, and only ECR can be asked for its labels."
        )
    where = {"registryId": found["account"], "repositoryName": found["repository"]}
    digest, tag = found["digest"], found["tag"] or "latest"
    try:
        image = _read(cloud.client("ecr"), where, {"imageDigest": digest} if digest else {"imageTag": tag})
    except (BotoCoreError, ClientError, KeyError, ValueError) as error:
        raise DeployError(f"The labels of {address} cannot be read from ECR: {error}.") from error
    if image.architecture == "":
        raise DeployError(f"{address} has no labels of its own: it is {image.media_type}.")
    return image.labels


def _read(client: Any, where: Mapping[str, str], image_id: Mapping[str, str]) -> Image:
    answer = client.batch_get_image(**where, imageIds=[image_id], acceptedMediaTypes=_MANIFESTS)
    name, repository = next(iter(image_id.values())), where["repositoryName"]
    if not answer["images"]:
        reason = next((failure.get("failureReason", "") for failure in answer.get("failures", [])), "")
        raise DeployError(
            f"{repository} has no image {name}{reason and f' ({reason})'}. See 'aws ecr describe-images "
            f"--repository-name {repository}', or push one with '{_tool(repository)} image push'."
        )
    digest = answer["images"][0].get("imageId", {}).get("imageDigest", name)
    manifest = json.loads(answer["images"][0]["imageManifest"])
    media_type = answer["images"][0].get("imageManifestMediaType") or manifest.get("mediaType", "")
    if "config" not in manifest:
        return Image(digest, media_type)
    url = client.get_download_url_for_layer(**where, layerDigest=manifest["config"]["digest"])
    config = _fetch(url["downloadUrl"])
    details = config.get("config") or {}
    return Image(
        digest,
        media_type,
        sum(layer.get("size", 0) for layer in manifest.get("layers", [])),
        config.get("os", ""),
        config.get("architecture", ""),
        details.get("User") or "",
        details.get("Entrypoint") or [],
        details.get("Labels") or {},
    )


def _tool(repository: str) -> str:
    """Name the console script that fills a repository."""
    return "agent-infra" if repository == AGENT_REPOSITORY else "speech-infra"


def _fetch(url: str) -> dict[str, Any]:
    if not url.startswith(("https://", "data:", "http://127.0.0.1:")):
        raise DeployError(f"The registry sends to {url[:80]} for the image's configuration; https is expected.")
    try:
        with urlopen(url, timeout=60) as response:  # noqa: S310  # checked above
            config: dict[str, Any] = json.loads(response.read(_LARGEST_CONFIG))
    except (OSError, ValueError) as error:
        raise DeployError(f"The image's configuration could not be read from the registry: {error}.") from error
    return config
