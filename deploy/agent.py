"""The stack ``agent-runtime``: the Strands agent on Amazon Bedrock AgentCore Runtime."""

from aws_cdk import CfnOutput, Duration, Fn, Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_iam as iam
from constructs import Construct

from deploy.nag import IAM5, acknowledge
from deploy.settings import AGENT_REPOSITORY, AGENT_STACK, ENDPOINT_STACK, FOUNDATION_STACK, Settings

__all__ = ["AgentStack"]


class AgentStack(Stack):
    """The runtime and its role. The endpoint's name is imported, so CloudFormation keeps the endpoint as long."""

    def __init__(self, scope: Construct, settings: Settings) -> None:
        super().__init__(
            scope,
            AGENT_STACK,
            env={"account": settings.account, "region": settings.region},
            description="Strands agent on AgentCore Runtime, speaking through the speech endpoint",
        )
        repository = Fn.import_value(f"{FOUNDATION_STACK}-AgentRepository")
        endpoint = Fn.import_value(f"{ENDPOINT_STACK}-EndpointName")
        image = f"{self.account}.dkr.ecr.{self.region}.{self.url_suffix}/{repository}@{settings.agent_digest}"
        runtime = agentcore.Runtime(
            self,
            "Runtime",
            runtime_name=settings.runtime_name,
            description="Speaks what the model writes, while it writes",
            agent_runtime_artifact=agentcore.AgentRuntimeArtifact.from_image_uri(image),
            network_configuration=agentcore.RuntimeNetworkConfiguration.using_public_network(),
            protocol_configuration=agentcore.ProtocolType.HTTP,
            lifecycle_configuration=agentcore.LifecycleConfiguration(
                idle_runtime_session_timeout=Duration.minutes(15), max_lifetime=Duration.hours(1)
            ),
            environment_variables={
                "SPEECH_ENDPOINT": endpoint,
                "AGENT_MODEL_ID": settings.bedrock_model,
                "AWS_REGION": settings.region,
            },
        )
        for statement in self._statements(settings, endpoint):
            runtime.add_to_role_policy(statement)
        self._acknowledge(runtime, settings)
        CfnOutput(self, "AgentRuntimeArn", value=runtime.agent_runtime_arn)
        CfnOutput(self, "AgentRuntimeId", value=runtime.agent_runtime_id)

    def _statements(self, settings: Settings, endpoint: str) -> list[iam.PolicyStatement]:
        model = settings.bedrock_foundation_model
        # an inference profile sends the request to a region of its choice
        region = "*" if settings.uses_inference_profile else self.region
        models = [f"arn:{self.partition}:bedrock:{region}::foundation-model/{model}"]
        if settings.uses_inference_profile:
            models.append(
                f"arn:{self.partition}:bedrock:{self.region}:{self.account}:inference-profile/{settings.bedrock_model}"
            )
        return [
            iam.PolicyStatement(
                sid="Think",
                actions=["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"],
                resources=models,
            ),
            iam.PolicyStatement(
                sid="Speak",
                # a role with InvokeEndpoint alone is refused the stream
                actions=["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithBidirectionalStream"],
                resources=[f"arn:{self.partition}:sagemaker:{self.region}:{self.account}:endpoint/{endpoint}"],
            ),
            iam.PolicyStatement(
                sid="PullImage",
                actions=["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                resources=[self.format_arn(service="ecr", resource="repository", resource_name=AGENT_REPOSITORY)],
            ),
            iam.PolicyStatement(sid="LogInToRegistry", actions=["ecr:GetAuthorizationToken"], resources=["*"]),
        ]

    def _acknowledge(self, runtime: agentcore.Runtime, settings: Settings) -> None:
        here = f"{self.region}:{self.account}"
        logs = f"Resource::arn:<AWS::Partition>:logs:{here}:log-group:"
        identities = "workload-identity-directory/default/workload-identity/*"
        model = f"foundation-model/{settings.bedrock_foundation_model}"
        by_cdk = "written by CDK's construct for the runtime, as AgentCore documents it"
        unchecked = "Annotation::aws-cdk-lib.aws-bedrockagentcore:containerUriValidationSkipped"
        acknowledge(
            runtime,
            {
                unchecked: "the repository's name is imported; the image is looked at before a deployment",
                f"{IAM5}[Resource::*]": "GetAuthorizationToken, X-Ray and PutMetricData take no resource",
                f"{IAM5}[{logs}/aws/bedrock-agentcore/runtimes/*]": by_cdk,
                f"{IAM5}[{logs}/aws/bedrock-agentcore/runtimes/*:log-stream:*]": by_cdk,
                f"{IAM5}[{logs}*]": by_cdk,
                f"{IAM5}[Resource::arn:<AWS::Partition>:bedrock-agentcore:{here}:{identities}]": by_cdk,
                f"{IAM5}[Resource::arn:<AWS::Partition>:bedrock:*::{model}]": "the profile chooses the region; "
                "the model is named",
            },
        )
