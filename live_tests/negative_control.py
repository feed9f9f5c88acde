"""A container that is known to be broken, deployed for some minutes: proof that the run could have failed."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from live_tests.description import Description
from live_tests.waiting import until

__all__ = ["DeploymentError", "NotInTimeError", "deployed"]

_EVERY_S = 15.0
_CREATION_S = 3600.0
"""AWS deletes no endpoint that it still creates. So long at most is waited for that, past any limit: it is billed."""

_LEFT = "left behind, delete it by hand (aws sagemaker ...): "

type _Made = list[tuple[str, dict[str, str]]]
"""What deletes each thing that was made, or may have been: operation and arguments."""


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
    tell: Callable[[str], None] = print,
) -> Iterator[str]:
    """Deploy ``image`` with the role and the instance type of the endpoint ``like`` and yield the new endpoint's name.

    Everything that was made is deleted at the end, whatever happened. ``limit``: seconds until it has to be in
    service. ``tell`` is called with what has to be known at once: that the end waits, and what a second Ctrl-C leaves.

    Raises:
        DeploymentError: it cannot be created, is not in service in time, or cannot be deleted again.
    """
    name = f"negative-control-{uuid.uuid4().hex[:8]}"
    made: _Made = []

    def settle() -> None:
        tell(
            f"{name} is still being created, and AWS deletes no endpoint before that is over: waiting, "
            f"{_CREATION_S / 60:.0f} minutes at most. If that is cut short, delete it by hand: "
            f"aws sagemaker delete-endpoint --endpoint-name {name}"
        )
        until(lambda: _settled(sagemaker, name), _CREATION_S, every, clock, sleep)

    try:
        try:
            _create(sagemaker, name, like, image, made)
            found = until(lambda: _settled(sagemaker, name), limit, every, clock, sleep)
        except ClientError as error:
            raise DeploymentError(f"the negative control {name} cannot be deployed: {error}") from error
        except BotoCoreError as error:
            raise DeploymentError(
                f"the negative control {name} cannot be deployed: {error}. What AWS had begun was deleted if it was "
                f"there by then; make sure: aws sagemaker describe-endpoint --endpoint-name {name}"
            ) from error
        if found is None:
            raise NotInTimeError(f"{name} is not in service within {limit:.0f} s")
        if found["EndpointStatus"] != "InService":
            raise DeploymentError(f"{name} is {found['EndpointStatus']}: {found.get('FailureReason', 'no reason')}")
        yield name
    finally:
        _delete(sagemaker, made, settle, tell)


def _create(sagemaker: Any, name: str, like: Description, image: str, made: _Made) -> None:
    variant = like.variants[0]
    # each is noted before it is asked for: where the answer is lost, AWS may have made it all the same
    made.append(("delete_model", {"ModelName": name}))
    sagemaker.create_model(
        ModelName=name, PrimaryContainer={"Image": image}, ExecutionRoleArn=variant.model["ExecutionRoleArn"]
    )
    settings = {"VariantName": "AllTraffic", "ModelName": name, "InitialInstanceCount": 1}
    settings |= {
        key: variant.settings[key] for key in ("InstanceType", "InferenceAmiVersion") if key in variant.settings
    }
    made.append(("delete_endpoint_config", {"EndpointConfigName": name}))
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[settings])
    made.append(("delete_endpoint", {"EndpointName": name}))
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)


def _settled(sagemaker: Any, name: str) -> dict[str, Any] | None:
    """Return what is said of the endpoint once it is not being created any more, None before, or if no answer came."""
    try:
        found: dict[str, Any] = sagemaker.describe_endpoint(EndpointName=name)
    except BotoCoreError:
        return None
    return found if found["EndpointStatus"] != "Creating" else None


def _delete(sagemaker: Any, made: _Made, settle: Callable[[], None], tell: Callable[[str], None]) -> None:
    left = []
    todo = made[::-1]
    for at, (operation, arguments) in enumerate(todo):
        try:
            _delete_one(sagemaker, operation, arguments, settle)
        except Exception as error:  # noqa: BLE001 - whatever it was: the rest has to be deleted too
            left.append(f"{_command(operation, arguments)} ({error})")
        except BaseException:  # stopped for the second time
            tell(_LEFT + "; ".join([*left, *(_command(*each) for each in todo[at:])]))
            raise
    if left:
        raise DeploymentError(_LEFT + "; ".join(left))


def _delete_one(sagemaker: Any, operation: str, arguments: dict[str, str], settle: Callable[[], None]) -> None:
    """Delete one thing; one that is not there is deleted."""
    delete = getattr(sagemaker, operation)
    try:
        try:
            delete(**arguments)
        except ClientError as error:
            name = arguments.get("EndpointName")
            if name is None or _is_missing(error) or _settled(sagemaker, name) is not None:
                raise
            settle()
            delete(**arguments)
    except ClientError as error:
        if not _is_missing(error):
            raise


def _command(operation: str, arguments: dict[str, str]) -> str:
    return f"{operation.replace('_', '-')} {next(iter(arguments.values()))}"


def _is_missing(error: ClientError) -> bool:
    """Return whether AWS says that there is no such thing; SageMaker has no error code of its own for it."""
    return str(error.response["Error"].get("Message", "")).startswith("Could not find")
