"""What still costs something after ``destroy``, and how it goes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from deploy import endpoints, stacks
from deploy.cloud import Cloud
from deploy.errors import DeployError
from deploy.prices import GIGABYTE, HOURS_A_MONTH, Prices, dollars
from deploy.settings import (
    AGENT_REPOSITORY,
    AGENT_STACK,
    ENDPOINT_STACK,
    FOUNDATION_STACK,
    SPEECH_REPOSITORY,
    Settings,
)

__all__ = ["Leftover", "agent_logs", "find", "purge", "purge_alone"]

_AGENT_LOGS = "/aws/bedrock-agentcore/runtimes/"


@dataclass(frozen=True, slots=True)
class Leftover:
    """One thing that is there. ``monthly`` is in US dollars, None where it is not known."""

    kind: str
    name: str
    detail: str
    monthly: float | None = 0.0
    running: bool = False
    """Whether it is at work, so that it has to be destroyed first."""
    remove: Callable[[], None] | None = None
    """Deletes it; None for what is shown only."""

    def __str__(self) -> str:
        mark = "RUNNING " if self.running else "        "
        return f"{mark}{self.kind:<11} {self.name}  {self.detail}  {dollars(self.monthly)} a month"


def find(cloud: Cloud, settings: Settings, prices: Prices) -> list[Leftover]:
    """Return everything of this project in the account and region, what runs first."""
    found = [*_endpoints(cloud, settings, prices), *_runtimes(cloud, settings), *_stacks(cloud)]
    found += _bucket(cloud, settings.bucket, prices)
    for repository in (SPEECH_REPOSITORY, AGENT_REPOSITORY):
        found += _repository(cloud, repository, prices)
    found += _logs(cloud, settings, prices)
    return sorted(found, key=lambda leftover: not leftover.running)


def purge(cloud: Cloud, found: list[Leftover]) -> Iterator[str]:
    """Delete everything that may be deleted; yields a line for each.

    Raises:
        DeployError: something is still at work; nothing is deleted then.
    """
    running = [leftover for leftover in found if leftover.running]
    if running:
        names = ", ".join(f"{leftover.kind} {leftover.name}" for leftover in running)
        raise DeployError(f"Still there: {names}. First run 'agent-infra destroy', then 'speech-infra destroy'.")
    yield from purge_alone(found)
    if stacks.find(cloud, FOUNDATION_STACK) is not None:
        stacks.delete(cloud, FOUNDATION_STACK)
        yield f"deleted stack {FOUNDATION_STACK}"


def agent_logs(cloud: Cloud, settings: Settings, prices: Prices) -> list[Leftover]:
    """Return the log groups of the agent's runtime."""
    return [found for found in _logs(cloud, settings, prices) if found.name.startswith(_AGENT_LOGS)]


def purge_alone(found: list[Leftover]) -> Iterator[str]:
    """Delete these and nothing else; yields a line for each."""
    for leftover in found:
        if leftover.remove is not None:
            leftover.remove()
            yield f"deleted {leftover.kind} {leftover.name}"


def _endpoints(cloud: Cloud, settings: Settings, prices: Prices) -> Iterator[Leftover]:
    client = cloud.client("sagemaker")
    for page in client.get_paginator("list_endpoints").paginate():
        for entry in page["Endpoints"]:
            name = entry["EndpointName"]
            if name != settings.endpoint_name and not _is_ours(client, entry["EndpointArn"]):
                continue
            found = endpoints.describe(cloud, name)
            if found is not None:
                instances = max(found.instances, found.desired, 1)
                hour = prices.hour(found.instance_type, instances)
                yield Leftover(
                    "endpoint",
                    name,
                    f"{found.status}, {instances} x {found.instance_type}, {dollars(hour)} an hour",
                    None if hour is None else hour * HOURS_A_MONTH,
                    running=True,
                )


def _is_ours(client: Any, arn: str) -> bool:
    pages = client.get_paginator("list_tags").paginate(ResourceArn=arn)
    return any(tag == {"Key": "stack", "Value": ENDPOINT_STACK} for page in pages for tag in page["Tags"])


def _runtimes(cloud: Cloud, settings: Settings) -> Iterator[Leftover]:
    for page in cloud.client("bedrock-agentcore-control").get_paginator("list_agent_runtimes").paginate():
        for entry in page["agentRuntimes"]:
            if entry["agentRuntimeName"] == settings.runtime_name:
                yield Leftover("runtime", entry["agentRuntimeId"], "costs nothing without a session", running=True)


def _stacks(cloud: Cloud) -> Iterator[Leftover]:
    for name in (AGENT_STACK, ENDPOINT_STACK):
        stack = stacks.find(cloud, name)
        if stack is not None:
            yield Leftover("stack", name, f"{stack.status} {stack.reason}".strip(), running=True)
    if stacks.find(cloud, "CDKToolkit") is not None:
        yield Leftover("stack", "CDKToolkit", "CDK's bootstrap: shared, not of this project, left alone", None)


def _bucket(cloud: Cloud, name: str, prices: Prices) -> Iterator[Leftover]:
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    client = cloud.client("s3")
    try:
        client.head_bucket(Bucket=name, ExpectedBucketOwner=cloud.account)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return
        raise
    pages = client.get_paginator("list_object_versions").paginate(Bucket=name)
    sizes = [version["Size"] for page in pages for version in page.get("Versions", [])]
    parts = [part["Size"] for upload in _uploads(client, name) for part in _parts(client, name, upload)]
    uploads = len(_uploads(client, name))
    detail = f"{len(sizes)} objects, {_gigabytes(sum(sizes))}"
    if uploads:
        detail += f", {uploads} unfinished uploads, {_gigabytes(sum(parts))}"
    price = prices.stored("s3", sum(sizes) + sum(parts))
    yield Leftover("bucket", name, detail, price, remove=lambda: _delete_bucket(client, name))


def _uploads(client: Any, bucket: str) -> list[dict[str, Any]]:
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket)
    return [upload for page in pages for upload in page.get("Uploads", [])]


def _parts(client: Any, bucket: str, upload: dict[str, Any]) -> list[dict[str, Any]]:
    pages = client.get_paginator("list_parts").paginate(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    return [part for page in pages for part in page.get("Parts", [])]


def _delete_bucket(client: Any, name: str) -> None:
    for upload in _uploads(client, name):
        client.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
    for page in client.get_paginator("list_object_versions").paginate(Bucket=name):
        keys = [
            {"Key": entry["Key"], "VersionId": entry["VersionId"]}
            for entry in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        ]
        if keys:
            errors = client.delete_objects(Bucket=name, Delete={"Objects": keys, "Quiet": True}).get("Errors")
            if errors:
                raise DeployError(f"{errors[0]['Key']} in {name} could not be deleted: {errors[0]['Message']}")
    client.delete_bucket(Bucket=name)


def _repository(cloud: Cloud, name: str, prices: Prices) -> Iterator[Leftover]:
    client = cloud.client("ecr")
    try:
        pages = client.get_paginator("describe_images").paginate(repositoryName=name)
        sizes = [detail.get("imageSizeInBytes", 0) for page in pages for detail in page["imageDetails"]]
    except client.exceptions.RepositoryNotFoundException:
        return
    yield Leftover(
        "repository",
        name,
        f"{len(sizes)} images, {_gigabytes(sum(sizes))}",
        prices.stored("ecr", sum(sizes)),
        remove=lambda: client.delete_repository(repositoryName=name, force=True),
    )


def _logs(cloud: Cloud, settings: Settings, prices: Prices) -> Iterator[Leftover]:
    client = cloud.client("logs")
    prefixes = (endpoints.log_group(settings.endpoint_name), f"{_AGENT_LOGS}{settings.runtime_name}-")
    for prefix in prefixes:
        for page in client.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=prefix):
            for group in page["logGroups"]:
                name, size = group["logGroupName"], group.get("storedBytes", 0)
                if prefix.startswith(_AGENT_LOGS) or name == prefix:
                    yield Leftover(
                        "log group",
                        name,
                        _gigabytes(size),
                        prices.stored("logs", size),
                        remove=lambda name=name: client.delete_log_group(logGroupName=name),  # type: ignore[misc]
                    )


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:.2f} GB" if size >= GIGABYTE / 100 else f"{size:,} bytes"
