"""Where moto 5.2.5 falls short for a deployment with CloudFormation: everything replaced in it for that.

The counterpart of :mod:`emulator.controlplane.moto_gaps`, which is about SageMaker itself.
"""

import base64
import hashlib
import json
from typing import Any, override
from urllib.parse import unquote

from moto.bedrock.responses import BedrockResponse
from moto.bedrockagentcorecontrol.models import AgentRuntime, bedrockagentcorecontrol_backends
from moto.cloudformation.models import Stack
from moto.cloudformation.parsing import OutputMap, ResourceMap
from moto.core.common_models import CloudFormationModel
from moto.core.responses import ActionResult
from moto.ecr.models import ECRBackend, Image
from moto.ecr.responses import ECRResponse
from moto.servicequotas.responses import ServiceQuotasResponse
from moto.utilities.utils import get_partition

from emulator.agentcore.runtimes import AgentRuntimes

__all__ = ["apply"]

_SAGEMAKER = ("AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig", "AWS::SageMaker::Endpoint")
# the layers that were uploaded, by digest: moto keeps their sizes only
_layers: dict[str, bytes] = {}


def apply() -> None:
    """Close all gaps. What CloudFormation knows is set when this module is imported: see :class:`RuntimeResource`."""
    _name_runtimes_as_agentcore_does()
    _retain_what_is_retained_except_on_create()
    _leave_deleted_stacks_alone()
    _update_what_refers_to_what_changed()
    _measure_images()
    _keep_layers()
    _list_quotas()
    _grant_models()


class RuntimeResource(CloudFormationModel):
    """``AWS::BedrockAgentCore::Runtime``, which moto's CloudFormation does not know though its API does.

    moto finds a type of resource by its class; the module's name needs a dot in it.
    """

    def __init__(self, runtime: AgentRuntime) -> None:
        self.runtime = runtime

    @staticmethod
    @override
    def cloudformation_name_type() -> str:
        return "AgentRuntimeName"

    @staticmethod
    @override
    def cloudformation_type() -> str:
        return "AWS::BedrockAgentCore::Runtime"

    @classmethod
    @override
    def has_cfn_attr(cls, attr: str) -> bool:
        return attr in {"AgentRuntimeArn", "AgentRuntimeId", "AgentRuntimeVersion", "Status"}

    def get_cfn_attribute(self, attribute_name: str) -> str:
        """Return what ``Fn::GetAtt`` asks for."""
        return {
            "AgentRuntimeArn": self.runtime.agent_runtime_arn,
            "AgentRuntimeId": self.runtime.agent_runtime_id,
            "AgentRuntimeVersion": self.runtime.agent_runtime_version,
            "Status": "READY",
        }[attribute_name]

    @property
    def physical_resource_id(self) -> str:
        """What ``Ref`` gives."""
        return self.runtime.agent_runtime_id

    @override
    def is_created(self) -> bool:
        return True

    @classmethod
    @override
    def create_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: dict[str, Any], account_id: str, region_name: str, **kwargs: Any
    ) -> "RuntimeResource":
        backend = bedrockagentcorecontrol_backends[account_id][region_name]
        properties = cloudformation_json["Properties"]
        return cls(
            backend.create_agent_runtime(
                agent_runtime_name=resource_name, tags=properties.get("Tags"), **_runtime_arguments(properties)
            )
        )

    @classmethod
    @override
    def update_from_cloudformation_json(
        cls,
        original_resource: "RuntimeResource",
        new_resource_name: str,
        cloudformation_json: dict[str, Any],
        account_id: str,
        region_name: str,
    ) -> "RuntimeResource":
        backend = bedrockagentcorecontrol_backends[account_id][region_name]
        arguments = _runtime_arguments(cloudformation_json["Properties"])
        arn = original_resource.runtime.agent_runtime_arn
        backend.update_agent_runtime(original_resource.physical_resource_id, **arguments)
        original_resource.runtime.agent_runtime_arn = arn  # a new version does not change it
        return original_resource

    @classmethod
    @override
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: dict[str, Any], account_id: str, region_name: str
    ) -> None:
        bedrockagentcorecontrol_backends[account_id][region_name].delete_agent_runtime(resource_name)


def _runtime_arguments(properties: dict[str, Any]) -> dict[str, Any]:
    """Translate a template's properties into the API's."""
    protocol = properties.get("ProtocolConfiguration")
    return {
        "agent_runtime_artifact": _lower(properties["AgentRuntimeArtifact"]),
        "role_arn": properties["RoleArn"],
        "network_configuration": _lower(properties["NetworkConfiguration"]),
        "description": properties.get("Description"),
        "authorizer_configuration": _lower(properties.get("AuthorizerConfiguration")),
        "request_header_configuration": _lower(properties.get("RequestHeaderConfiguration")),
        "protocol_configuration": None if protocol is None else {"serverProtocol": protocol},
        "lifecycle_configuration": _lower(properties.get("LifecycleConfiguration")),
        "environment_variables": properties.get("EnvironmentVariables"),
    }


def _lower(value: Any) -> Any:
    """Write the names of members as the API does, with a small first letter."""
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _lower(member) for name, member in value.items()}
    return [_lower(member) for member in value] if isinstance(value, list) else value


def _name_runtimes_as_agentcore_does() -> None:
    """Moto's runtimes have ARNs of another shape, without the runtime's name."""
    create = AgentRuntime.__init__

    def init(self: AgentRuntime, region_name: str, account_id: str, agent_runtime_name: str, **values: Any) -> None:
        create(self, region_name, account_id, agent_runtime_name, **values)
        self.agent_runtime_id = AgentRuntimes.id(agent_runtime_name)  # so that the emulator's data plane knows it
        self.agent_runtime_arn = (
            f"arn:{get_partition(region_name)}:bedrock-agentcore:{region_name}:{account_id}:runtime/"
            f"{self.agent_runtime_id}"
        )

    AgentRuntime.__init__ = init  # type: ignore[assignment,method-assign]


def _retain_what_is_retained_except_on_create() -> None:
    """Moto's CloudFormation knows the deletion policy Retain, not RetainExceptOnCreate, and deletes what has it."""
    delete = ResourceMap.delete

    def delete_what_is_not_retained(self: ResourceMap) -> None:
        for resource in self._resource_json_map.values():
            if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
                resource["DeletionPolicy"] = "Retain"
        delete(self)

    ResourceMap.delete = delete_what_is_not_retained  # type: ignore[method-assign]


def _leave_deleted_stacks_alone() -> None:
    """Moto makes a deleted stack's resources anew when somebody asks for its outputs."""
    delete = Stack.delete

    def delete_for_good(self: Stack) -> None:
        delete(self)
        self.output_map = OutputMap(self.resource_map, {}, self.stack_id)

    Stack.delete = delete_for_good  # type: ignore[method-assign]


def _update_what_refers_to_what_changed() -> None:
    """Moto updates only what is written differently: an endpoint whose model was replaced keeps the old one."""
    build = ResourceMap.build_resource_diff

    def build_resource_diff(
        self: ResourceMap, other_template: dict[str, Any], parameters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        actions = build(self, other_template, parameters)
        resources: dict[str, Any] = other_template["Resources"]
        changed = {name for name in actions["Modify"] if resources[name]["Type"] in _SAGEMAKER}
        for kind in _SAGEMAKER:  # each refers to the one before, and so is updated after it
            changed |= {
                name
                for name, resource in resources.items()
                if resource["Type"] == kind and name in self._resource_json_map
                if changed & _referred(resource.get("Properties"))
            }
        others = [name for name in actions["Modify"] if name not in changed]
        actions["Modify"] = others + sorted(changed, key=lambda name: _SAGEMAKER.index(resources[name]["Type"]))
        return actions

    ResourceMap.build_resource_diff = build_resource_diff  # type: ignore[method-assign]


def _referred(value: Any) -> set[str]:
    """Return the logical names that a part of a template refers to."""
    if isinstance(value, list):
        return set().union(*(_referred(member) for member in value))
    if not isinstance(value, dict):
        return set()
    if "Fn::GetAtt" in value:
        return {value["Fn::GetAtt"][0]}
    if "Ref" in value:
        return {value["Ref"]}
    return set().union(*(_referred(member) for member in value.values()))


def _measure_images() -> None:
    """Moto gives an image a digest that has nothing to do with its manifest, and the size of its configuration."""

    def create_digest(self: Image) -> None:
        self._image_digest = f"sha256:{hashlib.sha256(self.image_manifest.encode()).hexdigest()}"

    def get_image_size_in_bytes(self: Image) -> int:
        layers: list[dict[str, int]] = json.loads(self.image_manifest).get("layers", [])
        return sum(layer["size"] for layer in layers)

    Image._create_digest = create_digest  # type: ignore[method-assign]  # noqa: SLF001
    Image.get_image_size_in_bytes = get_image_size_in_bytes  # type: ignore[method-assign]


def _keep_layers() -> None:
    """Moto keeps no layers of images and has no GetDownloadUrlForLayer; the URL given here holds the layer itself."""
    complete = ECRBackend.complete_layer_upload

    def complete_layer_upload(
        self: ECRBackend,
        repository_name: str,
        upload_id: str,
        layer_digests: list[str],
        registry_id: str | None = None,
    ) -> dict[str, Any]:
        upload = self._get_repository(repository_name, registry_id).uploads.get(upload_id)
        answer = complete(self, repository_name, upload_id, layer_digests, registry_id)
        if upload is not None:
            _layers[answer["layerDigest"]] = bytes(upload.layer_parts)
        return answer

    def get_download_url_for_layer(self: ECRResponse) -> ActionResult:
        digest = self._get_param("layerDigest")
        layer = base64.b64encode(_layers[digest]).decode()
        return ActionResult({"layerDigest": digest, "downloadUrl": f"data:application/octet-stream;base64,{layer}"})

    ECRBackend.complete_layer_upload = complete_layer_upload  # type: ignore[method-assign]
    ECRResponse.get_download_url_for_layer = get_download_url_for_layer  # type: ignore[assignment,method-assign]


def _list_quotas() -> None:
    """Moto knows the default quotas of VPC only, and no ListServiceQuotas."""
    quotas = [
        {
            "ServiceCode": "sagemaker",
            "QuotaName": f"ml.{kind} for endpoint usage",
            "QuotaCode": f"L-EMULATOR{number}",
            "Value": 2.0,
        }
        for number, kind in enumerate(("g5.xlarge", "g5.2xlarge", "g6.xlarge", "c7i.2xlarge"))
    ]

    def list_service_quotas(self: ServiceQuotasResponse) -> ActionResult:
        return ActionResult({"Quotas": quotas if self._get_param("ServiceCode") == "sagemaker" else []})

    ServiceQuotasResponse.list_service_quotas = list_service_quotas  # type: ignore[attr-defined]


def _grant_models() -> None:
    """Moto has no GetFoundationModelAvailability: here every model may be used."""

    def get_foundation_model_availability(self: BedrockResponse) -> str:
        return json.dumps(
            {
                "modelId": unquote(self.path.rpartition("/")[2]),
                "agreementAvailability": {"status": "AVAILABLE"},
                "authorizationStatus": "AUTHORIZED",
                "entitlementAvailability": "AVAILABLE",
                "regionAvailability": "AVAILABLE",
            }
        )

    BedrockResponse.get_foundation_model_availability = (  # type: ignore[attr-defined]
        get_foundation_model_availability
    )
