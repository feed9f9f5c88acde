"""What the registry has under a digest, a tag, or an address."""

import base64
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from deploy import images
from deploy.errors import DeployError
from deploy.images import DOCKER_MANIFEST

REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
DIGEST = "sha256:" + "ab" * 32
CONFIG = {"os": "linux", "architecture": "amd64", "config": {"Labels": {"a": "true"}, "Entrypoint": ["python"]}}
INDEX = "application/vnd.oci.image.index.v1+json"


class Registry:
    """An ECR client, and whoever has it."""

    def __init__(self, *, manifest: Any = None, refusal: ClientError | None = None) -> None:
        self.manifest = {"config": {"digest": "sha256:cc"}, "layers": [{"size": 7}]} if manifest is None else manifest
        self.refusal = refusal
        self.asked: list[dict[str, Any]] = []

    def client(self, service: str, /) -> Any:
        assert service == "ecr"
        return self

    def batch_get_image(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.refusal is not None:
            raise self.refusal
        if not self.manifest:
            return {"images": [], "failures": [{"failureReason": "Requested image not found"}]}
        media_type = self.manifest.get("mediaType", DOCKER_MANIFEST)
        found = {"imageManifest": json.dumps(self.manifest), "imageManifestMediaType": media_type}
        return {"images": [found | {"imageId": {"imageDigest": DIGEST}}]}

    def get_download_url_for_layer(self, **asked: Any) -> Any:
        self.asked.append(asked)
        return {"downloadUrl": "data:;base64," + base64.b64encode(json.dumps(CONFIG).encode()).decode()}


@pytest.mark.parametrize(
    ("address", "image_id"),
    [
        (f"{REGISTRY}/speech/kokoro@{DIGEST}", {"imageDigest": DIGEST}),
        (f"{REGISTRY}/speech/kokoro:7@{DIGEST}", {"imageDigest": DIGEST}),
        (f"{REGISTRY}/speech/kokoro:7", {"imageTag": "7"}),
        (f"{REGISTRY}/speech/kokoro", {"imageTag": "latest"}),
        (f"{REGISTRY}.cn/speech/kokoro:7", {"imageTag": "7"}),
    ],
)
def test_labels_are_found_by_address(address: str, image_id: dict[str, str]) -> None:
    registry = Registry()
    assert images.labels(registry, address) == {"a": "true"}
    where = {"registryId": "123456789012", "repositoryName": "speech/kokoro"}
    assert registry.asked[0] | where | {"imageIds": [image_id]} == registry.asked[0]
    assert registry.asked[1] == where | {"layerDigest": "sha256:cc"}


def test_an_image_is_found_by_digest() -> None:
    found = images.inspect(Registry(), "speech/kokoro", DIGEST)
    assert (found.digest, found.media_type, found.size) == (DIGEST, DOCKER_MANIFEST, 7)
    assert (found.os, found.architecture, found.entrypoint, found.labels) == (
        "linux",
        "amd64",
        ["python"],
        {"a": "true"},
    )
    index = images.inspect(Registry(manifest={"mediaType": INDEX, "manifests": []}), "speech/kokoro", DIGEST)
    assert (index.media_type, index.labels) == (INDEX, {})


@pytest.mark.parametrize(
    ("registry", "told"),
    [
        (Registry(manifest={}), r"Requested image not found.*or push one with '{} image push'\."),
        (
            Registry(refusal=ClientError({"Error": {"Code": "RepositoryNotFoundException"}}, "BatchGetImage")),
            "no repository .* yet.*'{} deploy' without --image.*aws ecr create-repository",
        ),
    ],
)
@pytest.mark.parametrize(("repository", "tool"), [("speech/kokoro", "speech-infra"), ("speech/agent", "agent-infra")])
def test_an_image_that_is_not_there_says_which_command_pushes_one(
    registry: Registry, told: str, repository: str, tool: str
) -> None:
    with pytest.raises(DeployError, match=told.replace("{}", tool)):
        images.inspect(registry, repository, DIGEST)


@pytest.mark.parametrize(
    ("address", "registry", "told"),
    [
        ("docker.io/library/voice:1", Registry(), "in no ECR repository"),
        ("", Registry(), "The image is in no ECR repository"),
        (f"{REGISTRY}/a:1", Registry(manifest={}), "a has no image 1 .Requested image not found.*describe-images"),
        (
            f"{REGISTRY}/a:1",
            Registry(refusal=ClientError({"Error": {"Code": "AccessDeniedException"}}, "BatchGetImage")),
            "cannot be read from ECR.*AccessDenied",
        ),
        (f"{REGISTRY}/a:1", Registry(manifest={"config": {}}), "cannot be read from ECR"),
        (f"{REGISTRY}/a:1", Registry(manifest={"mediaType": INDEX, "manifests": []}), f"no labels of its own.*{INDEX}"),
    ],
)
def test_labels_that_cannot_be_read_say_why(address: str, registry: Registry, told: str) -> None:
    with pytest.raises(DeployError, match=told.replace("+", r"\+")):
        images.labels(registry, address)
