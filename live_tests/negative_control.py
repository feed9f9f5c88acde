"""A container that is known to be broken, deployed for some minutes: proof that the run could have failed."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from live_tests.description import Description
from live_tests.waiting import until

__all__ = ["DeploymentError", "NotInTimeError", "deployed"]

_EVERY_S = 15.0


class DeploymentError(Exception):
    """Raised when the container cannot be deployed, or when something of it may be left behind."""


class NotInTimeError(DeploymentError):
    """Raised when the container is not in service within the limit; nothing of it is left behind."""


@contextmanager
def deployed(
    sagemaker: Any,
    like: Description,
    image: str,
    limit: float,
    *,
    every: float = _EVERY_S,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Deploy ``image`` with the role and the instance type of the endpoint ``like`` and yield the new endpoint's name.

    Everything that was made is deleted at the end, whatever happened. ``limit``: seconds until it has to be in
    service.

    Raises:
        DeploymentError: it cannot be created, is not in service in time, or cannot be deleted again.
    """
    name = f"negative-control-{uuid.uuid4().hex[:8]}"
    variant = like.variants[0]
    made: list[tuple[str, dict[str, str]]] = []
    try:
        try:
            sagemaker.create_model(
                ModelName=name, PrimaryContainer={"Image": image}, ExecutionRoleArn=variant.model["ExecutionRoleArn"]
            )
            made.append(("delete_model", {"ModelName": name}))
            settings = {"VariantName": "AllTraffic", "ModelName": name, "InitialInstanceCount": 1}
            settings |= {
                key: variant.settings[key] for key in ("InstanceType", "InferenceAmiVersion") if key in variant.settings
            }
            sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[settings])
            made.append(("delete_endpoint_config", {"EndpointConfigName": name}))
            sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
            made.append(("delete_endpoint", {"EndpointName": name}))
        except ClientError as error:
            raise DeploymentError(f"the negative control cannot be deployed: {error}") from error

        def settled() -> dict[str, Any] | None:
            found: dict[str, Any] = sagemaker.describe_endpoint(EndpointName=name)
            return found if found["EndpointStatus"] != "Creating" else None

        found = until(settled, limit, every, clock, sleep)
        if found is None:
            raise NotInTimeError(f"{name} is not in service within {limit:.0f} s")
        if found["EndpointStatus"] != "InService":
            raise DeploymentError(f"{name} is {found['EndpointStatus']}: {found.get('FailureReason', 'no reason')}")
        yield name
    finally:
        _delete(sagemaker, made)


def _delete(sagemaker: Any, made: list[tuple[str, dict[str, str]]]) -> None:
    left = []
    for operation, arguments in reversed(made):
        try:
            getattr(sagemaker, operation)(**arguments)
        except Exception as error:  # noqa: BLE001 - whatever it was: the rest has to be deleted too
            left.append(f"{operation.replace('_', '-')} {next(iter(arguments.values()))} ({error})")
    if left:
        raise DeploymentError("left behind, delete it by hand (aws sagemaker ...): " + "; ".join(left))
