"""The labels of a deployed image, read from its registry: SageMaker opens no WebSocket without the right one."""

import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from live_tests.cloud import Cloud

__all__ = ["Labels", "LabelsError", "registry_labels"]

type Labels = Callable[[Cloud, str], Mapping[str, str]]
"""Returns the labels of an image by its address; raises LabelsError."""

_ECR = re.compile(r"(?P<account>\d{12})\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com/(?P<repository>[^:@]+)(?P<rest>[:@].+)?")
_MANIFESTS = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
]
_TIMEOUT_S = 30.0


class LabelsError(Exception):
    """Raised when the labels cannot be read; says why."""


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - signed by ECR, always https
        body: bytes = answer.read()
        return body


def registry_labels(cloud: Cloud, image: str, download: Callable[[str], bytes] = _download) -> Mapping[str, str]:
    """Read manifest and configuration of an image in ECR.

    Raises:
        LabelsError: another registry, no permission, or no such image.
    """
    found = _ECR.fullmatch(image)
    if found is None:
        raise LabelsError(f"{image or 'the image'} is in no ECR repository, and only ECR can be asked")
    rest = found["rest"] or ":latest"
    image_id = {"imageDigest": rest[1:]} if rest.startswith("@") else {"imageTag": rest[1:].partition("@")[0]}
    where = {"registryId": found["account"], "repositoryName": found["repository"]}
    ecr: Any = cloud.client("ecr")
    try:
        answer = ecr.batch_get_image(**where, imageIds=[image_id], acceptedMediaTypes=_MANIFESTS)
        if not answer["images"]:
            reason = answer["failures"][0].get("failureReason", "it is not there") if answer["failures"] else "nothing"
            raise LabelsError(f"ECR does not give the manifest of {image}: {reason}")
        digest = json.loads(answer["images"][0]["imageManifest"])["config"]["digest"]
        url = ecr.get_download_url_for_layer(**where, layerDigest=digest)["downloadUrl"]
        config = json.loads(download(url))
    except (ClientError, BotoCoreError, OSError, ValueError, KeyError) as error:
        raise LabelsError(f"the labels of {image} cannot be read from ECR: {error}") from error
    return dict(config.get("config", {}).get("Labels") or {})
