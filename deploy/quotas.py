"""The account's quotas, as Service Quotas lists them."""

from typing import Any

from deploy.cloud import Cloud

__all__ = ["find"]

_LISTS = ("list_service_quotas", "list_aws_default_service_quotas")
"""A quota that was never changed may be in the second only
(https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_ListServiceQuotas.html)."""


def find(cloud: Cloud, name: str) -> tuple[float | None, bool]:
    """Return the value of one of SageMaker's quotas, None without one, and whether the lists could be read."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

    client: Any = cloud.client("service-quotas")
    for operation in _LISTS:
        try:
            for page in client.get_paginator(operation).paginate(ServiceCode="sagemaker"):
                for quota in page["Quotas"]:
                    if quota["QuotaName"] == name:
                        return float(quota["Value"]), True
        except ClientError as error:
            # no such service in this list
            if error.response["Error"]["Code"] != "NoSuchResourceException":
                return None, False
        except BotoCoreError:
            return None, False
    return None, True
