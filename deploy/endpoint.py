"""The stack ``speech-endpoint``: everything that is gone, and costs nothing any longer, after ``destroy``."""

from typing import Any

from aws_cdk import CfnOutput, CfnTag, Fn, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from deploy.monitoring import add_alarms, add_dashboard, add_scaling
from deploy.nag import IAM5, acknowledge
from deploy.settings import ENDPOINT_STACK, FOUNDATION_STACK, SPEECH_REPOSITORY, VARIANT, Settings

__all__ = ["EndpointStack"]


class EndpointStack(Stack):
    """Role, model, configuration and endpoint, with what watches over them.

    CloudFormation deletes them in the reverse of the order in which they refer to each other, so the role outlives
    the endpoint, as DeleteEndpoint wants it.
    """

    def __init__(self, scope: Construct, settings: Settings) -> None:
        super().__init__(
            scope,
            ENDPOINT_STACK,
            env={"account": settings.account, "region": settings.region},
            description="Kokoro-82M on a SageMaker AI endpoint with bidirectional streaming",
        )
        self._settings = settings
        self._bucket = Fn.import_value(f"{FOUNDATION_STACK}-Bucket")
        # imports keep the order: CloudFormation keeps bucket and repository as long as this stack
        repository = Fn.import_value(f"{FOUNDATION_STACK}-SpeechRepository")
        image = f"{self.account}.dkr.ecr.{self.region}.{self.url_suffix}/{repository}@{settings.image_digest}"
        role = self._role()
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=True,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image,
                environment=dict(settings.environment) or None,
                model_data_source=self._model_data(),
            ),
            tags=[CfnTag(key="stack", value=ENDPOINT_STACK)],
        )
        config = sagemaker.CfnEndpointConfig(
            self,
            "Config",
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT,
                    model_name=model.attr_model_name,
                    instance_type=settings.instance_type,
                    initial_instance_count=settings.instances,
                    initial_variant_weight=1,
                    inference_ami_version=settings.ami if settings.has_gpu else None,
                    container_startup_health_check_timeout_in_seconds=settings.startup_timeout,
                    model_data_download_timeout_in_seconds=settings.startup_timeout if settings.model_data else None,
                    routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                        routing_strategy="LEAST_OUTSTANDING_REQUESTS"
                    ),
                )
            ],
            tags=[CfnTag(key="stack", value=ENDPOINT_STACK)],
        )
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=settings.endpoint_name,
            endpoint_config_name=config.attr_endpoint_config_name,
            # an update must not take back what scaling has added
            retain_all_variant_properties=True if settings.max_instances else None,
            tags=[CfnTag(key="stack", value=ENDPOINT_STACK)],
        )
        name = endpoint.attr_endpoint_name
        add_alarms(self, name, settings)
        add_dashboard(self, name, settings)
        add_scaling(self, endpoint, settings)
        CfnOutput(self, "EndpointName", value=name, export_name=f"{ENDPOINT_STACK}-EndpointName")
        CfnOutput(self, "EndpointConfigName", value=config.attr_endpoint_config_name)

    def _model_data(self) -> Any:
        if self._settings.model_data is None:
            return None
        return sagemaker.CfnModel.ModelDataSourceProperty(
            s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                s3_uri=f"s3://{self._bucket}/{self._settings.model_data}",
                s3_data_type="S3Prefix",
                compression_type="None",
            )
        )

    def _role(self) -> iam.Role:
        """What SageMaker may do for the container; inline, so that it is whole before SageMaker looks at it."""
        repository = self.format_arn(service="ecr", resource="repository", resource_name=SPEECH_REPOSITORY)
        logs = f"log-group:/aws/sagemaker/Endpoints/{self._settings.endpoint_name}"
        statements = [
            iam.PolicyStatement(
                sid="PullImage",
                actions=["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
                resources=[repository],
            ),
            iam.PolicyStatement(sid="LogInToRegistry", actions=["ecr:GetAuthorizationToken"], resources=["*"]),
            iam.PolicyStatement(
                sid="WriteLogs",
                actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                resources=[self._logs_arn(logs), self._logs_arn(f"{logs}:*")],
            ),
            iam.PolicyStatement(
                sid="PublishMetrics",
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringLike": {"cloudwatch:namespace": ["AWS/SageMaker", "/aws/sagemaker/*"]}},
            ),
        ]
        if self._settings.model_data is not None:
            bucket = f"arn:{self.partition}:s3:::{self._bucket}"
            statements += [
                iam.PolicyStatement(
                    sid="ReadWeights", actions=["s3:GetObject"], resources=[f"{bucket}/{self._settings.model_data}*"]
                ),
                iam.PolicyStatement(
                    sid="ListWeights",
                    actions=["s3:ListBucket"],
                    resources=[bucket],
                    conditions={"StringLike": {"s3:prefix": [f"{self._settings.model_data}*"]}},
                ),
            ]
        role = iam.Role(
            self,
            "ExecutionRole",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            description="What SageMaker may do to run the speech container",
            inline_policies={"speech": iam.PolicyDocument(statements=statements)},
        )
        logs_arn = f"arn:<AWS::Partition>:logs:{self.region}:{self.account}:{logs}"
        weights_arn = f"arn:<AWS::Partition>:s3:::{FOUNDATION_STACK}-Bucket/{self._settings.model_data}"
        acknowledge(
            role,
            {
                f"{IAM5}[Resource::*]": "both actions take no resource; metrics are held to SageMaker's namespaces",
                f"{IAM5}[Resource::{logs_arn}:*]": "the streams of this endpoint's own log group",
                f"{IAM5}[Resource::{weights_arn}*]": "every file of one version of the weights",
            },
        )
        return role

    def _logs_arn(self, resource: str) -> str:
        return f"arn:{self.partition}:logs:{self.region}:{self.account}:{resource}"
