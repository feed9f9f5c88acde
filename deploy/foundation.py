"""The stack ``speech-foundation``: what is kept when the endpoint goes. It costs cents a month."""

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_s3 as s3
from constructs import Construct

from deploy.nag import acknowledge
from deploy.settings import AGENT_REPOSITORY, FOUNDATION_STACK, SPEECH_REPOSITORY, Settings

__all__ = ["FoundationStack"]

# a first create that fails leaves nothing behind then, which plain RETAIN would
_KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


class FoundationStack(Stack):
    """Bucket for the weights and one repository for each image."""

    def __init__(self, scope: Construct, settings: Settings) -> None:
        super().__init__(
            scope,
            FOUNDATION_STACK,
            env={"account": settings.account, "region": settings.region},
            description="Bucket for weights and repositories for images of the speech endpoint and its agent",
        )
        self.weights = s3.Bucket(
            self,
            "Weights",
            bucket_name=settings.bucket,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="unfinished-uploads", abort_incomplete_multipart_upload_after=Duration.days(1), enabled=True
                )
            ],
            removal_policy=_KEPT,
        )
        acknowledge(
            self.weights,
            {"AwsSolutions::AwsSolutions-S1": "public weights that one role reads: a log of accesses tells nothing"},
        )
        CfnOutput(self, "Bucket", value=self.weights.bucket_name, export_name=f"{FOUNDATION_STACK}-Bucket")
        for name, repository_name in (("SpeechRepository", SPEECH_REPOSITORY), ("AgentRepository", AGENT_REPOSITORY)):
            repository = ecr.Repository(
                self,
                name,
                repository_name=repository_name,
                image_tag_mutability=ecr.TagMutability.IMMUTABLE,
                image_scan_on_push=True,
                lifecycle_rules=[ecr.LifecycleRule(description="the newest three", max_image_count=3)],
                removal_policy=_KEPT,
            )
            CfnOutput(self, f"{name}Name", value=repository.repository_name, export_name=f"{FOUNDATION_STACK}-{name}")
