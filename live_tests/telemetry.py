"""What an endpoint leaves in CloudWatch: metrics of the service and of the instance, and the container's log."""

import datetime
from typing import Any

from botocore.exceptions import ClientError

__all__ = ["log_lines", "metric_names"]

_NAMESPACES = ("AWS/SageMaker", "/aws/sagemaker/Endpoints")
_MOST_LINES = 5


def metric_names(cloudwatch: Any, endpoint: str) -> dict[str, list[str]] | None:
    """Return the names of all metrics of the endpoint by namespace, None while there are none."""
    found: dict[str, set[str]] = {}
    for namespace in _NAMESPACES:
        pages = cloudwatch.get_paginator("list_metrics").paginate(
            Namespace=namespace, Dimensions=[{"Name": "EndpointName", "Value": endpoint}]
        )
        names = {metric["MetricName"] for page in pages for metric in page["Metrics"]}
        if names:
            found[namespace] = names
    return {namespace: sorted(names) for namespace, names in found.items()} or None


def log_lines(logs: Any, endpoint: str, since: datetime.datetime | None = None) -> list[str] | None:
    """Return some lines of the container's log, None while there are none; ``since`` an aware time."""
    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    bound = {} if since is None else {"startTime": int(since.timestamp() * 1000)}
    try:
        events = logs.filter_log_events(logGroupName=group, limit=_MOST_LINES, **bound)["events"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return None
        raise
    return [event["message"] for event in events] or None
