"""What an earlier deployment has kept: the bucket and the repositories, with their stack or without it."""

from deploy.cloud import Cloud
from deploy.settings import AGENT_REPOSITORY, SPEECH_REPOSITORY, Settings

__all__ = ["existing", "has_bucket", "make_room", "names"]


def names(settings: Settings) -> list[str]:
    """Return the names of everything that is kept."""
    return [settings.bucket, SPEECH_REPOSITORY, AGENT_REPOSITORY]


def has_bucket(cloud: Cloud, settings: Settings) -> bool:
    """Whether the bucket for the weights is there."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  # slow

    try:
        cloud.client("s3").head_bucket(Bucket=settings.bucket, ExpectedBucketOwner=cloud.account)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
        return False
    return True


def existing(cloud: Cloud, settings: Settings) -> list[str]:
    """Return the names of what is there."""
    found = [settings.bucket] if has_bucket(cloud, settings) else []
    client = cloud.client("ecr")
    for repository in (SPEECH_REPOSITORY, AGENT_REPOSITORY):
        try:
            client.describe_repositories(repositoryNames=[repository])
            found.append(repository)
        except client.exceptions.RepositoryNotFoundException:
            continue
    return found


def make_room(cloud: Cloud, settings: Settings, found: list[str]) -> None:
    """Take away what a stack cannot take in: the policy of the bucket, which it makes anew.

    CloudFormation refuses with "The bucket policy already exists on bucket", and imports none whose bucket is named by
    a reference (https://github.com/medplum/medplum/issues/2008).
    """
    if settings.bucket in found:
        cloud.client("s3").delete_bucket_policy(Bucket=settings.bucket)
