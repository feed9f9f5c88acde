"""What SageMaker says of a deployed endpoint: status, configuration, variants, model, image."""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

__all__ = ["Description", "NoEndpointError", "Variant", "describe"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One production variant. ``settings`` is its entry in the endpoint's configuration, as AWS gives it."""

    name: str
    instance_type: str
    instances: int
    image: str
    settings: dict[str, Any]
    model: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Description:
    """One endpoint. ``reason`` is FailureReason, empty where there is none."""

    name: str
    arn: str
    status: str
    reason: str
    config: str
    variants: tuple[Variant, ...]

    @property
    def variant_names(self) -> frozenset[str]:
        """Names of all variants."""
        return frozenset(variant.name for variant in self.variants)


class NoEndpointError(Exception):
    """Raised when the endpoint cannot be described."""


def describe(sagemaker: Any, endpoint: str) -> Description:
    """Ask SageMaker (a boto3 client) for everything about an endpoint.

    Raises:
        NoEndpointError: it does not exist, or this account may not ask.
    """
    try:
        found = sagemaker.describe_endpoint(EndpointName=endpoint)
        config = sagemaker.describe_endpoint_config(EndpointConfigName=found["EndpointConfigName"])
        variants = tuple(_variant(sagemaker, entry, found) for entry in config["ProductionVariants"])
    except ClientError as error:
        raise NoEndpointError(
            f"{error.response['Error']['Code']}: {error.response['Error']['Message']}. "
            "Is it deployed in this region and account ('speech-infra status')?"
        ) from error
    except BotoCoreError as error:
        raise NoEndpointError(f"SageMaker cannot be asked: {error}") from error
    return Description(
        found["EndpointName"],
        found["EndpointArn"],
        found["EndpointStatus"],
        found.get("FailureReason", ""),
        found["EndpointConfigName"],
        variants,
    )


def _variant(sagemaker: Any, entry: dict[str, Any], endpoint: dict[str, Any]) -> Variant:
    running: dict[str, Any] = next(
        (v for v in endpoint.get("ProductionVariants", ()) if v["VariantName"] == entry["VariantName"]), {}
    )
    model = sagemaker.describe_model(ModelName=entry["ModelName"])
    container = model.get("PrimaryContainer") or (model.get("Containers") or [{}])[0]
    images = running.get("DeployedImages") or [{}]
    return Variant(
        entry["VariantName"],
        entry.get("InstanceType", "serverless"),
        running.get("CurrentInstanceCount") or entry.get("InitialInstanceCount") or 1,
        images[0].get("ResolvedImage") or container.get("Image", ""),
        entry,
        model,
    )
