"""Where moto 5.2.5 falls short of SageMaker: everything that is replaced in it, and nothing else.

It runs in a process of its own (:mod:`emulator.controlplane.moto_main`), so that another use of moto in the user's
process does not see it. Each function closes one gap. They replace methods, since moto has no hook for any of them.
"""

import itertools
import re
from typing import Any
from urllib.parse import urlsplit

from moto.cloudformation import responses as cloudformation
from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.sagemaker.exceptions import ValidationError
from moto.sagemaker.models import FakeEndpoint, FakeEndpointConfig, Model, SageMakerModelBackend, sagemaker_backends
from moto.sagemaker.responses import SageMakerResponse

__all__ = ["apply", "endpoints", "report"]

_INSTANCE_TYPE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_generations = itertools.count(1)
# what DescribeEndpoint must not show: the plan that an endpoint was created or updated with, by its ARN
_plans: dict[str, dict[str, Any]] = {}


def apply() -> None:
    """Close all gaps."""
    _accept_current_instance_types()
    _create_endpoints_that_are_not_there_yet()
    _update_endpoints()
    _update_weights()
    _take_names_from_templates()
    _find_templates_on_loopback()


def endpoints() -> list[dict[str, Any]]:
    """Return what should be running: one plan for each endpoint in the books."""
    alive = [
        endpoint.arn
        for by_region in sagemaker_backends.values()
        for backend in by_region.values()
        for endpoint in backend.endpoints.values()
    ]
    return [{name: value for name, value in _plans[arn].items() if name != "before"} for arn in alive if arn in _plans]


def report(arn: str, generation: int, status: str, reason: str | None, rolled_back: bool) -> None:
    """Write into the books what became of an endpoint; a report on an older plan is dropped."""
    plan = _plans.get(arn)
    endpoint = _find(arn)
    if plan is None or endpoint is None or plan["generation"] != generation:
        return
    if rolled_back:
        endpoint.endpoint_config_name, endpoint.production_variants, plan["variants"] = plan["before"]
    endpoint.endpoint_status = status
    endpoint.failure_reason = reason  # type: ignore[assignment]  # moto knows no reason but None
    endpoint.last_modified_time = utcnow()
    for variant, planned in zip(endpoint.production_variants, plan["variants"], strict=False):
        if status == "InService" and not rolled_back and planned["image"]:
            variant["DeployedImages"] = [
                {"SpecifiedImage": planned["image"], "ResolvedImage": planned["image"], "ResolutionTime": utcnow()}
            ]


def _find(arn: str) -> FakeEndpoint | None:
    _, _, _, region, account, resource = arn.split(":", 5)
    return sagemaker_backends[account][region].endpoints.get(resource.partition("/")[2])


def _accept_current_instance_types() -> None:
    """Moto knows the instance types of 2020: it refuses ml.g5.xlarge."""

    def validate(_: FakeEndpointConfig, instance_type: str) -> None:
        if not _INSTANCE_TYPE.fullmatch(instance_type):
            raise ValidationError(
                message=f"1 validation error detected: Value '{instance_type}' at 'instanceType' failed to satisfy "
                "constraint: Member must satisfy enum value set (such as ml.g5.xlarge)"
            )

    FakeEndpointConfig.validate_instance_type = validate  # type: ignore[assignment,method-assign]


def _create_endpoints_that_are_not_there_yet() -> None:
    """Moto's endpoints are InService at once, and a second one of the same name replaces the first."""
    create = SageMakerModelBackend.create_endpoint

    def create_endpoint(
        self: SageMakerModelBackend, endpoint_name: str, endpoint_config_name: str, tags: list[dict[str, str]]
    ) -> FakeEndpoint:
        if endpoint_name in self.endpoints:
            arn = self.endpoints[endpoint_name].arn
            raise ValidationError(message=f'Cannot create already existing endpoint "{arn}".')
        endpoint = create(self, endpoint_name, endpoint_config_name, tags)
        endpoint.endpoint_status = "Creating"
        _plan(self, endpoint)
        return endpoint

    SageMakerModelBackend.create_endpoint = create_endpoint  # type: ignore[method-assign]


def _update_endpoints() -> None:
    """Moto has no UpdateEndpoint, and its CloudFormation replaces an endpoint instead of updating it."""

    def update_endpoint(self: SageMakerResponse) -> ActionResult:
        config = self._get_param("EndpointConfigName")
        return ActionResult(
            {"EndpointArn": _update(self.sagemaker_backend, self._get_param("EndpointName"), config).arn}
        )

    def update_from_cloudformation_json(
        _: type[FakeEndpoint],
        original_resource: FakeEndpoint,
        new_resource_name: str,  # noqa: ARG001  # moto's signature
        cloudformation_json: Any,
        account_id: str,
        region_name: str,
    ) -> FakeEndpoint:
        config = cloudformation_json["Properties"]["EndpointConfigName"]
        return _update(sagemaker_backends[account_id][region_name], original_resource.endpoint_name, config)

    SageMakerResponse.update_endpoint = update_endpoint  # type: ignore[attr-defined]
    FakeEndpoint.update_from_cloudformation_json = classmethod(  # type: ignore[assignment,method-assign]
        update_from_cloudformation_json
    )


def _update(backend: SageMakerModelBackend, name: str, config_name: str) -> FakeEndpoint:
    endpoint = backend.endpoints.get(name)
    if endpoint is None:
        arn = FakeEndpoint.arn_formatter(name, backend.account_id, backend.region_name)
        raise ValidationError(message=f'Could not find endpoint "{arn}".')
    if endpoint.endpoint_status not in ("InService", "Failed"):
        raise ValidationError(message=f'Cannot update in-progress endpoint "{endpoint.arn}".')
    config = backend.describe_endpoint_config(config_name)
    before = endpoint.endpoint_config_name, endpoint.production_variants, _plans[endpoint.arn]["variants"]
    endpoint.endpoint_config_name = config_name
    endpoint.production_variants = endpoint._process_production_variants(config["ProductionVariants"])  # noqa: SLF001
    endpoint.endpoint_status = "Updating"
    endpoint.failure_reason = None
    endpoint.last_modified_time = utcnow()
    _plan(backend, endpoint, before)
    return endpoint


def _plan(backend: SageMakerModelBackend, endpoint: FakeEndpoint, before: Any = None) -> None:
    """Note what to run. Model and configuration may be deleted afterwards, as on AWS."""
    config = backend.endpoint_configs[endpoint.endpoint_config_name]
    for variant in endpoint.production_variants:  # moto leaves out what has its default
        variant.setdefault("CurrentWeight", _weight(config, variant["VariantName"]))
        variant.setdefault("DesiredWeight", _weight(config, variant["VariantName"]))
    _plans[endpoint.arn] = {
        "arn": endpoint.arn,
        "name": endpoint.endpoint_name,
        "generation": next(_generations),
        "variants": [_variant(backend, variant) for variant in config.production_variants],
        "before": before,
    }


def _weight(config: FakeEndpointConfig, name: str) -> float:
    """Return the weight that a variant begins with; moto takes a 0 for a missing one."""
    given = next(each for each in config.production_variants if each["VariantName"] == name)
    return float(given.get("InitialVariantWeight", 1.0))


def _update_weights() -> None:
    """Moto forgets a weight or count that is not given anew, and takes weights that leave no variant any traffic."""

    def update_endpoint_weights_and_capacities(
        self: SageMakerModelBackend, endpoint_name: str, desired_weights_and_capacities: list[dict[str, Any]]
    ) -> str:
        endpoint = self.endpoints.get(endpoint_name)
        if endpoint is None:
            arn = FakeEndpoint.arn_formatter(endpoint_name, self.account_id, self.region_name)
            raise ValidationError(message=f'Could not find endpoint "{arn}".')
        if endpoint.endpoint_status not in ("InService", "Failed"):
            raise ValidationError(message=f'Cannot update in-progress endpoint "{endpoint.arn}".')
        wanted = {each["VariantName"]: each for each in desired_weights_and_capacities}
        known = {variant["VariantName"] for variant in endpoint.production_variants}
        if unknown := sorted(wanted.keys() - known):
            raise ValidationError(
                message=f'The variant name(s) "{", ".join(unknown)}" is/are not present within endpoint configuration '
                f'"{endpoint.endpoint_config_name}".'
            )
        weights = {
            variant["VariantName"]: float(
                wanted.get(variant["VariantName"], {}).get("DesiredWeight", variant["CurrentWeight"])
            )
            for variant in endpoint.production_variants
        }
        if not sum(weights.values()):
            raise ValidationError(message="The weights of all variants would be 0: no variant would get traffic.")
        for variant in endpoint.production_variants:
            variant["CurrentWeight"] = variant["DesiredWeight"] = weights[variant["VariantName"]]
            count = wanted.get(variant["VariantName"], {}).get("DesiredInstanceCount")
            if count is not None:
                variant["CurrentInstanceCount"] = variant["DesiredInstanceCount"] = count
        for planned in _plans[endpoint.arn]["variants"]:
            planned["weight"] = weights[planned["name"]]
        endpoint.last_modified_time = utcnow()
        return endpoint.arn

    SageMakerModelBackend.update_endpoint_weights_and_capacities = (  # type: ignore[method-assign]
        update_endpoint_weights_and_capacities
    )


def _variant(backend: SageMakerModelBackend, variant: dict[str, Any]) -> dict[str, Any]:
    model = backend._models.get(variant.get("ModelName", ""))  # noqa: SLF001
    containers = [] if model is None else [model.primary_container] if model.primary_container else model.containers
    first = containers[0] if containers else {}
    timeout = variant.get("ContainerStartupHealthCheckTimeoutInSeconds")
    return {
        "name": variant["VariantName"],
        "weight": float(variant.get("InitialVariantWeight", 1.0)),
        "containers": len(containers),
        "image": first.get("Image", ""),
        "environment": {str(name): str(value) for name, value in (first.get("Environment") or {}).items()},
        "model_data": bool(first.get("ModelDataUrl") or first.get("ModelDataSource")),
        "startup_timeout": None if timeout is None else float(timeout),
    }


def _take_names_from_templates() -> None:
    """Moto's CloudFormation ignores the names that a template gives to models, configurations and endpoints."""
    for kind, name in (
        (Model, "ModelName"),
        (FakeEndpointConfig, "EndpointConfigName"),
        (FakeEndpoint, "EndpointName"),
    ):
        kind.cloudformation_name_type = staticmethod(lambda name=name: name)  # type: ignore[method-assign]


def _find_templates_on_loopback() -> None:
    """Moto takes 127.0.0.1 in a template's URL for a bucket's name; it knows 'localhost' only."""
    find = cloudformation.get_stack_from_s3_url  # type: ignore[attr-defined]

    def get_stack_from_s3_url(template_url: str, account_id: str, partition: str) -> str:
        parts = urlsplit(template_url)
        if parts.hostname in _LOOPBACK:
            template_url = f"http://localhost{parts.path}"
        body: str = find(template_url, account_id, partition)
        return body

    cloudformation.get_stack_from_s3_url = get_stack_from_s3_url  # type: ignore[attr-defined]
