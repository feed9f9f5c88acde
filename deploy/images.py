"""Images as the registry has them: what SageMaker and AgentCore will find, seen before anything is created."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

from deploy.cloud import Cloud
from deploy.errors import DeployError

__all__ = ["DOCKER_MANIFEST", "Image", "inspect", "newest"]

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
"""The only manifest that SageMaker takes (https://github.com/aws/amazon-sagemaker-feedback/issues/180)."""
_MANIFESTS = [
    DOCKER_MANIFEST,
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
]
_LARGEST_CONFIG = 4_000_000


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


def newest(cloud: Cloud, repository: str) -> str | None:
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


def inspect(cloud: Cloud, repository: str, digest: str) -> Image:
    """Return what the registry has under a digest; for an image of another form only its manifest's type.

    Raises:
        DeployError: it is not there, or its configuration cannot be read.
    """
    client = cloud.client("ecr")
    answer = client.batch_get_image(
        repositoryName=repository, imageIds=[{"imageDigest": digest}], acceptedMediaTypes=_MANIFESTS
    )
    if not answer["images"]:
        raise DeployError(
            f"{repository} has no image {digest}. See 'aws ecr describe-images --repository-name {repository}', or "
            "push one with 'image push'."
        )
    manifest = json.loads(answer["images"][0]["imageManifest"])
    media_type = answer["images"][0].get("imageManifestMediaType") or manifest.get("mediaType", "")
    if "config" not in manifest:
        return Image(digest, media_type)
    url = client.get_download_url_for_layer(repositoryName=repository, layerDigest=manifest["config"]["digest"])
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


def _fetch(url: str) -> dict[str, Any]:
    if not url.startswith(("https://", "data:", "http://127.0.0.1:")):
        raise DeployError(f"The registry sends to {url[:80]} for the image's configuration; https is expected.")
    try:
        with urlopen(url, timeout=60) as response:  # noqa: S310  # checked above
            config: dict[str, Any] = json.loads(response.read(_LARGEST_CONFIG))
    except (OSError, ValueError) as error:
        raise DeployError(f"The image's configuration could not be read from the registry: {error}.") from error
    return config
