"""What CloudFormation knows of a stack."""

from dataclasses import dataclass
from typing import Any

from deploy.cloud import Cloud
from deploy.errors import DeployError

__all__ = ["Stack", "delete", "find"]


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that exists."""

    name: str
    status: str
    reason: str
    outputs: dict[str, str]

    @property
    def usable(self) -> bool:
        """Whether its resources are what its template says."""
        return self.status in {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"}


def find(cloud: Cloud, name: str) -> Stack | None:
    """Return a stack, None where there is none."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    try:
        raw: dict[str, Any] = cloud.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    if raw["StackStatus"] in {"DELETE_COMPLETE", "REVIEW_IN_PROGRESS"}:
        return None
    outputs = {output["OutputKey"]: output["OutputValue"] for output in raw.get("Outputs", [])}
    return Stack(name, raw["StackStatus"], raw.get("StackStatusReason") or "", outputs)


def delete(cloud: Cloud, name: str) -> None:
    """Delete a stack and wait until it is gone; what it retains stays.

    Raises:
        DeployError: CloudFormation could not.
    """
    from botocore.exceptions import WaiterError  # noqa: PLC0415  # slow

    client = cloud.client("cloudformation")
    client.delete_stack(StackName=name)
    try:
        client.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 5, "MaxAttempts": 360})
    except WaiterError as error:
        raise DeployError(
            f"The stack {name} could not be deleted: {error}. Its events in the CloudFormation console say why."
        ) from None
