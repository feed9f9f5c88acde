"""What is wrong with the configuration of a deployed endpoint, as far as it decides about bidirectional streaming."""

import re
from collections.abc import Iterator

from live_tests.description import Description, Variant

__all__ = ["problems"]

_GPU = re.compile(r"ml\.(g|p)\d")
_LEAST_STARTUP_S = 300
"""A large image with weights of its own needs minutes until /ping answers; the default is 8 of them."""


def problems(description: Description) -> list[str]:
    """Return one line for each thing that has to be changed, empty where all is well."""
    found = list(_endpoint(description))
    for variant in description.variants:
        found += [f"variant {variant.name}: {line}" for line in _variant(variant)]
    return found


def _endpoint(description: Description) -> Iterator[str]:
    if description.status != "InService":
        yield f"the endpoint is {description.status}: {description.reason or 'no reason is given'}"
    if not description.variants:
        yield "the configuration has no production variant"


def _variant(variant: Variant) -> Iterator[str]:
    settings, model = variant.settings, variant.model
    if _GPU.match(variant.instance_type) and not settings.get("InferenceAmiVersion"):
        yield (
            f"{variant.instance_type} without InferenceAmiVersion gets an old driver (CUDA 11.4 on ml.g5), under which "
            "current torch does not start; set it, e.g. to al2023-ami-sagemaker-inference-gpu-4-1"
        )
    startup = settings.get("ContainerStartupHealthCheckTimeoutInSeconds")
    if startup is not None and startup < _LEAST_STARTUP_S:
        yield f"ContainerStartupHealthCheckTimeoutInSeconds is {startup}: too short to pull an image; 900 is usual"
    if variant.instances < 1:
        yield "no instance runs"
    if settings.get("ServerlessConfig"):
        yield "a serverless variant: no source says that bidirectional streaming works there"
    if len(model.get("Containers") or ()) > 1:
        yield "the model has several containers (a pipeline): no source says that bidirectional streaming works there"
