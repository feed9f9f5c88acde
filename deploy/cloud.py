"""The account and region at work, and their clients."""

import os
from typing import Any, Self
from urllib.parse import urlsplit

from deploy import regions, target
from deploy.errors import DeployError
from deploy.settings import check_region

__all__ = ["Cloud"]

_AWS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


class Cloud:
    """One account in one region. Use it as a context manager: its clients are closed at the end."""

    def __init__(self, session: Any, account: str, region: str, *, rehearsal: bool) -> None:
        self.session = session
        self.account = account
        self.region = region
        self.rehearsal = rehearsal
        self._clients: dict[str, Any] = {}

    @classmethod
    def connect(cls, region: str | None = None) -> Self:
        """Find out whose account this is.

        Raises:
            DeployError: no region or no credentials, or AWS does not take them.
            SettingsError: what is given as the region cannot be one.
        """
        import boto3  # noqa: PLC0415  # slow
        from botocore import exceptions as failures  # noqa: PLC0415  # slow

        rehearsal = target.prepare(os.environ)
        if rehearsal:
            target.guard()
        try:
            session = boto3.Session(region_name=region or os.environ.get("AWS_REGION"))
            region = session.region_name
            if region is None:
                raise DeployError("No region: give --region, or set AWS_REGION, or 'region' in your AWS profile.")
            check_region(region)
            os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = region
            cloud = cls(session, "", region, rehearsal=rehearsal)
            sts = cloud.client("sts")
            if not rehearsal and not (urlsplit(sts.meta.endpoint_url).hostname or "").endswith(_AWS):
                raise DeployError(
                    f"Your AWS profile sends requests to {sts.meta.endpoint_url} (endpoint_url). Take that line out "
                    "for AWS, or set AWS_ENDPOINT_URL to the emulator for a rehearsal."
                )
            cloud.account = sts.get_caller_identity()["Account"]
        except (failures.HTTPClientError, failures.ConnectionError) as error:
            if rehearsal:
                advice = "Is the emulator running?"
            else:
                misspelt = regions.misspelt(session, session.region_name)
                advice = misspelt or "Is there a proxy or a firewall in between?"
            raise DeployError(f"{_sentence(error)} {advice}") from None
        except failures.ProfileNotFound as error:
            raise DeployError(_profiles(str(error.kwargs["profile"]))) from None
        except failures.ConfigParseError as error:
            raise DeployError(
                f"{error.kwargs['path']} cannot be read as a file of the AWS command line. Expected are sections, "
                "[default] or [profile NAME], with lines of 'name = value' below; put it right, or move it away."
            ) from None
        except (failures.BotoCoreError, failures.ClientError) as error:
            raise DeployError(
                f"AWS does not know you: {_sentence(error)} Sign in ('aws sso login', 'aws configure'), set "
                "AWS_PROFILE, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
            ) from None
        return cloud

    def client(self, service: str) -> Any:
        """Return the boto3 client of a service."""
        if service not in self._clients:
            from botocore.config import Config  # noqa: PLC0415  # slow

            config = Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
            self._clients[service] = self.session.client(service, config=config)
        return self._clients[service]

    @property
    def name(self) -> str:
        """Where this is, for the person at the terminal."""
        where = "a REHEARSAL on this machine, not AWS" if self.rehearsal else "AWS"
        return f"account {self.account}, region {self.region} ({where})"

    def registry(self, repository: str) -> str:
        """Return the address of a repository of images."""
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return f"{self.account}.dkr.ecr.{self.region}.{suffix}/{repository}"

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _profiles(missing: str) -> str:
    """Say that there is no such profile, and which there are."""
    from botocore.session import Session  # noqa: PLC0415  # slow

    known = Session(profile=None).available_profiles
    there = f"There are {', '.join(known)}." if known else "There are none: 'aws configure sso' makes one."
    return f"AWS_PROFILE={missing}: there is no such profile in the configuration of the AWS command line. {there}"


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.')}."
