"""What the templates say, and what the linters say of them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deploy import pins
from deploy.settings import BIDI_LABEL
from deploy.synthesis import SynthesisError, synthesise
from deploy.tests.conftest import FULL, PLAIN, Template

_KEPT = "RetainExceptOnCreate"


def of(template: Template, kind: str) -> list[dict[str, Any]]:
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def only(template: Template, kind: str) -> dict[str, Any]:
    (resource,) = of(template, kind)
    return resource


def statements(template: Template) -> list[dict[str, Any]]:
    found = []
    for role in of(template, "AWS::IAM::Role"):
        for policy in role["Properties"].get("Policies", []):
            found += policy["PolicyDocument"]["Statement"]
    for policy in of(template, "AWS::IAM::Policy"):
        found += policy["Properties"]["PolicyDocument"]["Statement"]
    return found


def test_exactly_bucket_and_repositories_outlive_their_stack(
    foundation: Template, endpoint: Template, agent: Template
) -> None:
    kept = sorted(
        resource["Type"]
        for template in (foundation, endpoint, agent)
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
    )
    assert kept == ["AWS::ECR::Repository", "AWS::ECR::Repository", "AWS::S3::Bucket"]
    # plain Retain would strand what a first create that fails has made
    assert {resource.get("DeletionPolicy") for resource in foundation["Resources"].values()} == {_KEPT, None}


def test_the_bucket_is_closed_and_cleans_up(foundation: Template) -> None:
    from aws_cdk.assertions import Match  # noqa: PLC0415  # at the top it would start Node whenever tests are collected
    from aws_cdk.assertions import Template as Assertions  # noqa: PLC0415

    Assertions.from_json(foundation).has_resource_properties(
        "AWS::S3::Bucket",
        {
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
            "LifecycleConfiguration": {
                "Rules": [Match.object_like({"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}})]
            },
            "VersioningConfiguration": Match.absent(),  # deleted versions would go on costing
        },
    )
    policy = only(foundation, "AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"]["Statement"][0]
    assert (policy["Effect"], policy["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_repositories_take_no_tag_twice_and_look_into_what_they_get(foundation: Template) -> None:
    for repository in of(foundation, "AWS::ECR::Repository"):
        properties = repository["Properties"]
        assert properties["ImageTagMutability"] == "IMMUTABLE"
        assert properties["ImageScanningConfiguration"] == {"ScanOnPush": True}
        rule = json.loads(properties["LifecyclePolicy"]["LifecyclePolicyText"])["rules"][0]
        assert rule["selection"]["countNumber"] == 3


def test_the_endpoint_names_its_image_by_digest_and_its_driver(endpoint: Template) -> None:
    container = only(endpoint, "AWS::SageMaker::Model")["Properties"]["PrimaryContainer"]
    assert json.dumps(container["Image"]).count(f"@{FULL.image_digest}") == 1
    variant = only(endpoint, "AWS::SageMaker::EndpointConfig")["Properties"]["ProductionVariants"][0]
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert variant["InstanceType"] == "ml.g5.xlarge"
    assert "VolumeSizeInGB" not in variant  # g5 has a disk of its own


def test_an_instance_without_a_gpu_has_no_driver_to_choose(plain_endpoint: Template) -> None:
    variant = only(plain_endpoint, "AWS::SageMaker::EndpointConfig")["Properties"]["ProductionVariants"][0]
    assert variant["InstanceType"] == "ml.c7i.2xlarge"
    assert "InferenceAmiVersion" not in variant


def test_the_container_has_no_network_and_gets_its_weights_from_a_folder(
    endpoint: Template, plain_endpoint: Template
) -> None:
    model = only(endpoint, "AWS::SageMaker::Model")["Properties"]
    assert model["EnableNetworkIsolation"] is True
    source = model["PrimaryContainer"]["ModelDataSource"]["S3DataSource"]
    assert (source["S3DataType"], source["CompressionType"]) == ("S3Prefix", "None")
    assert (
        json.dumps(source["S3Uri"]).rstrip('"]}').endswith("/models/kokoro-82m/0123456789ab/")
    )  # the last slash counts
    plain = only(plain_endpoint, "AWS::SageMaker::Model")["Properties"]
    assert plain["EnableNetworkIsolation"] is True
    assert "ModelDataSource" not in plain["PrimaryContainer"]
    assert not [statement for statement in statements(plain_endpoint) if "s3:" in json.dumps(statement["Action"])]


def test_the_role_may_do_nothing_that_the_container_does_not_need(endpoint: Template) -> None:
    role = only(endpoint, "AWS::IAM::Role")["Properties"]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "sagemaker.amazonaws.com"}
    assert "ManagedPolicyArns" not in role
    assert not of(endpoint, "AWS::IAM::Policy")  # all of it inline: SageMaker looks at the role at once
    by_id = {statement["Sid"]: statement for statement in statements(endpoint)}
    assert set(by_id) == {"PullImage", "LogInToRegistry", "WriteLogs", "PublishMetrics", "ReadWeights", "ListWeights"}
    assert [sid for sid, statement in by_id.items() if statement["Resource"] == "*"] == [
        "LogInToRegistry",
        "PublishMetrics",
    ]
    assert by_id["PublishMetrics"]["Condition"]["StringLike"]["cloudwatch:namespace"]
    assert by_id["ReadWeights"]["Action"] == "s3:GetObject"
    assert "/models/kokoro-82m/0123456789ab/*" in json.dumps(by_id["ReadWeights"]["Resource"])
    assert by_id["ListWeights"]["Condition"] == {"StringLike": {"s3:prefix": ["models/kokoro-82m/0123456789ab/*"]}}
    assert not any("*" in action for statement in by_id.values() for action in _list(statement["Action"]))


def test_no_measurement_no_alarm_and_no_scaling(endpoint: Template, plain_endpoint: Template) -> None:
    from aws_cdk.assertions import Template as Assertions  # noqa: PLC0415

    def metrics(template: Template) -> set[str]:
        return {alarm["Properties"]["MetricName"] for alarm in of(template, "AWS::CloudWatch::Alarm")}

    errors = {"Invocation5XXErrors", "InvocationModelErrors", "MidStreamErrors"}
    assert metrics(plain_endpoint) == errors
    assert metrics(endpoint) == errors | {"FirstChunkLatency", "ConcurrentRequestsPerModel"}
    Assertions.from_json(endpoint).has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {"MetricName": "ConcurrentRequestsPerModel", "Threshold": 4, "EvaluationPeriods": 5, "Statistic": "Maximum"},
    )
    Assertions.from_json(endpoint).has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {"MetricName": "FirstChunkLatency", "ExtendedStatistic": "p95", "Threshold": 300_000},  # microseconds
    )
    assert not of(plain_endpoint, "AWS::ApplicationAutoScaling::ScalableTarget")
    target = only(endpoint, "AWS::ApplicationAutoScaling::ScalableTarget")["Properties"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 3)
    assert only(endpoint, "AWS::SageMaker::Endpoint")["Properties"]["RetainAllVariantProperties"] is True
    assert "RetainAllVariantProperties" not in only(plain_endpoint, "AWS::SageMaker::Endpoint")["Properties"]
    assert len(of(plain_endpoint, "AWS::CloudWatch::Dashboard")) == 1


def test_the_agent_may_think_and_speak_and_no_more(agent: Template) -> None:
    by_id = {statement.get("Sid"): statement for statement in statements(agent)}
    assert set(by_id["Speak"]["Action"]) == {
        "sagemaker:InvokeEndpoint",
        "sagemaker:InvokeEndpointWithBidirectionalStream",
    }
    assert {"Fn::ImportValue": "speech-endpoint-EndpointName"} in by_id["Speak"]["Resource"]["Fn::Join"][1]
    models = json.dumps(by_id["Think"]["Resource"])
    assert ":bedrock:*::foundation-model/anthropic." in models  # a profile with a prefix sends it to other regions
    assert ":inference-profile/us.anthropic." in models


def test_the_agent_waits_for_its_rights_and_keeps_the_endpoint(agent: Template) -> None:
    runtime = only(agent, "AWS::BedrockAgentCore::Runtime")
    policy = next(name for name, found in agent["Resources"].items() if found["Type"] == "AWS::IAM::Policy")
    assert policy in runtime["DependsOn"]
    properties = runtime["Properties"]
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]{0,47}", properties["AgentRuntimeName"])
    assert properties["EnvironmentVariables"]["SPEECH_ENDPOINT"] == {"Fn::ImportValue": "speech-endpoint-EndpointName"}
    assert f"@{FULL.agent_digest}" in json.dumps(properties["AgentRuntimeArtifact"])
    assert properties["NetworkConfiguration"] == {"NetworkMode": "PUBLIC"}


def test_a_stack_is_exported_and_imported_under_the_same_names(
    foundation: Template, endpoint: Template, agent: Template
) -> None:
    exported = {
        output["Export"]["Name"]
        for template in (foundation, endpoint)
        for output in template["Outputs"].values()
        if "Export" in output
    }
    imported = set(re.findall(r'"Fn::ImportValue": "([^"]+)"', json.dumps([endpoint, agent])))
    assert imported == exported


@pytest.mark.parametrize("template", ["foundation", "endpoint", "plain_endpoint", "agent"])
def test_no_account_needs_a_bootstrap_and_no_template_holds_a_secret(
    template: str, request: pytest.FixtureRequest
) -> None:
    found: Template = request.getfixturevalue(template)
    assert "Rules" not in found
    assert "Parameters" not in found
    text = json.dumps(found)
    assert not re.search(r"AKIA[0-9A-Z]{16}|hf_[A-Za-z]{30}|aws_secret", text)


def test_cfn_lint_finds_nothing(assemblies: Path) -> None:
    # W3037: the streaming action is missing in the list of actions, and yet it is what AWS enforces.
    # W3005: CDK's construct for the runtime names a dependency twice.
    agent = [assemblies / "agent" / "agent-runtime.template.json"]
    others = [
        *(assemblies / "full-speech").glob("*.template.json"),
        *(assemblies / "plain-speech").glob("*-endpoint.t*"),
    ]
    assert len(others) == 3
    for paths, ignored in ((agent, ["W3037", "W3005"]), (others, [])):
        options = ["--ignore-checks", *ignored] if ignored else []
        line = [str(Path(sys.executable).with_name("cfn-lint")), "-r", "us-east-1", *options, "--", *map(str, paths)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_finding_of_cdk_nag_that_nobody_acknowledged_stops_the_synthesis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.endpoint.acknowledge", lambda *_: None)
    with pytest.raises(SynthesisError, match="AwsSolutions-IAM5"):
        synthesise("speech", PLAIN, tmp_path)


def test_the_dockerfile_has_what_sagemaker_wants() -> None:
    text = (pins.root() / "container" / "kokoro" / "Dockerfile").read_text("utf-8")
    last = text.rpartition("\nFROM ")[2]
    assert f'LABEL {BIDI_LABEL}="true"' in last
    assert re.search(r'^ENTRYPOINT \["', last, re.MULTILINE)
    assert "\nUSER " not in last  # SageMaker runs it as root


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
