"""Findings of cdk-nag that are meant to be so: each is acknowledged with its reason, and a new one still fails."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct

__all__ = ["IAM5", "acknowledge"]

_PACK = "AwsSolutions::AwsSolutions"
IAM5 = f"{_PACK}-IAM5"
"""A wildcard in a policy; acknowledged one resource at a time, as ``IAM5[Resource::...]``."""


def acknowledge(scope: IConstruct, findings: Mapping[str, str]) -> None:
    """Acknowledge findings (id to reason) in a stack or a part of it."""
    Validations.of(scope).acknowledge(*(Acknowledgment(id=rule, reason=reason) for rule, reason in findings.items()))
