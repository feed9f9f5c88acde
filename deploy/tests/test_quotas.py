"""Where a quota is looked for, and what is known where it is not found."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from deploy import quotas
from deploy.cloud import Cloud

NAME = "ml.g5.xlarge for endpoint usage"
APPLIED, DEFAULT = "list_service_quotas", "list_aws_default_service_quotas"


class Listed:
    """Service Quotas with a list each, or a refusal."""

    def __init__(self, **lists: Any) -> None:
        self._lists = lists

    def get_paginator(self, operation: str) -> Any:
        found = self._lists[operation]

        class Pages:
            def paginate(self, **_: str) -> Any:
                if isinstance(found, str):
                    raise ClientError({"Error": {"Code": found}}, operation)
                return [{"Quotas": [{"QuotaName": name, "Value": value} for name, value in found.items()]}]

        return Pages()


@pytest.mark.parametrize(
    ("applied", "default", "expected"),
    [
        ({NAME: 2}, {NAME: 1}, (2.0, True)),
        ({"another": 2}, {NAME: 0}, (0.0, True)),  # one that was never changed
        ({"another": 2}, {"another": 2}, (None, True)),
        ({"another": 2}, "NoSuchResourceException", (None, True)),
        ("AccessDeniedException", {NAME: 1}, (None, False)),
        ({"another": 2}, "AccessDeniedException", (None, False)),
    ],
)
def test_a_quota_is_looked_for_in_both_lists(applied: Any, default: Any, expected: tuple[float | None, bool]) -> None:
    cloud = Cloud(None, "123456789012", "us-east-1", rehearsal=False)
    cloud._clients["service-quotas"] = Listed(**{APPLIED: applied, DEFAULT: default})  # noqa: SLF001
    assert quotas.find(cloud, NAME) == expected
