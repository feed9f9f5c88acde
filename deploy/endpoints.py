"""The endpoint as SageMaker sees it: is it up, and does it run what was deployed?"""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deploy.cloud import Cloud
from deploy.errors import DeployError

__all__ = ["Running", "confirm", "describe", "log_group", "wait"]


@dataclass(frozen=True, slots=True)
class Running:
    """An endpoint that exists."""

    name: str
    status: str
    config: str
    reason: str
    instance_type: str
    instances: int
    desired: int
    image: str
    """The image that runs, as given and by digest."""
    since: datetime

    @property
    def hours(self) -> float:
        """Hours since it was created."""
        return (datetime.now(UTC) - self.since).total_seconds() / 3600


def log_group(endpoint: str) -> str:
    """Return the log group that SageMaker makes for an endpoint."""
    return f"/aws/sagemaker/Endpoints/{endpoint}"


def describe(cloud: Cloud, name: str) -> Running | None:
    """Return an endpoint, None where there is none."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    client = cloud.client("sagemaker")
    try:
        raw: dict[str, Any] = client.describe_endpoint(EndpointName=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationException":
            return None
        raise
    variant: dict[str, Any] = next(iter(raw.get("ProductionVariants", [])), {})
    planned: dict[str, Any] = {}
    with contextlib.suppress(ClientError):  # a configuration may be deleted while its endpoint goes on
        config = client.describe_endpoint_config(EndpointConfigName=raw["EndpointConfigName"])
        planned = next(iter(config["ProductionVariants"]), {})
    image: dict[str, Any] = next(iter(variant.get("DeployedImages", [])), {})
    return Running(
        name,
        raw["EndpointStatus"],
        raw["EndpointConfigName"],
        raw.get("FailureReason") or "",
        planned.get("InstanceType", "?"),
        int(variant.get("CurrentInstanceCount", 0)),
        int(variant.get("DesiredInstanceCount", planned.get("InitialInstanceCount", 0))),
        image.get("SpecifiedImage", ""),
        raw["CreationTime"],
    )


def wait(cloud: Cloud, name: str, delay: float = 15.0) -> Running:
    """Wait until an endpoint is in service, for an hour at most.

    Raises:
        DeployError: it failed or is not there; with its reason and the last lines of its log.
    """
    from botocore.exceptions import WaiterError  # noqa: PLC0415  # slow

    try:
        cloud.client("sagemaker").get_waiter("endpoint_in_service").wait(
            EndpointName=name, WaiterConfig={"Delay": delay, "MaxAttempts": int(3600 / delay)}
        )
    except WaiterError as error:
        found = describe(cloud, name)
        if found is None:
            raise DeployError(f"There is no endpoint {name}: {error}") from None
        raise DeployError(
            f"The endpoint {name} is {found.status}: {found.reason or 'SageMaker gives no reason'}\n{_log(cloud, name)}"
        ) from None
    found = describe(cloud, name)
    if found is None:
        raise DeployError(f"The endpoint {name} was deleted a moment ago.")
    return found


def confirm(found: Running, config: str, image: str | None = None) -> None:
    """Make sure that an endpoint runs what was deployed.

    After an update that failed, SageMaker goes back to the old configuration and reports InService without a reason
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997).

    Raises:
        DeployError: it does not.
    """
    if found.config != config:
        raise DeployError(
            f"The endpoint {found.name} is {found.status} with the configuration {found.config}, not {config}: the "
            "update failed and SageMaker went back without a word. Look for the new container's error in "
            f"the log group {log_group(found.name)}, then deploy again."
        )
    if image and found.image and found.image.partition("@")[2] != image.partition("@")[2]:
        raise DeployError(f"The endpoint {found.name} runs the image {found.image}, not {image}. Deploy again.")


def _log(cloud: Cloud, name: str) -> str:
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    group = log_group(name)
    none = (
        f"There is no log in {group}: a container that ends before its first line, and a CUDA version that does not "
        "fit the driver, look like that."
    )
    client = cloud.client("logs")
    try:
        streams = client.describe_log_streams(logGroupName=group, orderBy="LastEventTime", descending=True, limit=1)
        if not streams["logStreams"]:
            return none
        stream = streams["logStreams"][0]["logStreamName"]
        events = client.get_log_events(logGroupName=group, logStreamName=stream, limit=20)["events"]
    except ClientError:
        return none
    return f"The last lines of {group}:\n" + "\n".join(f"  {event['message'].rstrip()}" for event in events)
