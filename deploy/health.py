"""How an endpoint has fared lately: first audio, sessions, errors, alarms, and whether scaling got its instances."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from deploy.images import Clients
from deploy.metrics import ERRORS, FIRST_AUDIO, NAMESPACE, REFUSALS, SESSIONS
from deploy.settings import VARIANT

__all__ = ["Health", "look"]

_PERCENTILES = ("p50", "p95")
_QUIET = "Successful"


@dataclass(frozen=True, slots=True)
class Health:
    """What CloudWatch has of the last ``minutes``. Percentiles by minute, microseconds."""

    minutes: int
    percentiles: Mapping[datetime, tuple[float, float]]
    sessions: float
    errors: Mapping[str, float]
    alarms: tuple[str, ...]
    """Names of those that are raised."""
    scaling: str = ""
    """What went wrong with scaling last, "" where nothing did."""

    def lines(self) -> list[tuple[str, str]]:
        """Return what is shown, as label and value."""
        found = [("first audio", self._first_audio()), ("sessions", f"{self.sessions:g} in {self.minutes} minutes")]
        found.append(("errors", ", ".join(f"{name} {count:g}" for name, count in self.errors.items())))
        found.append(("alarms", ", ".join(self.alarms) or "none is raised"))
        return found + ([("scaling", self.scaling)] if self.scaling else [])

    def _first_audio(self) -> str:
        if not self.percentiles:
            return f"no sessions in the last {self.minutes} minutes"
        latest = max(self.percentiles)
        middle, high = self.percentiles[latest]
        # no percentile of the whole time can be had from those of its minutes; it is not above the worst of them
        worst = max(high for _, high in self.percentiles.values())
        return (
            f"p50 {middle / 1000:.0f} ms, p95 {high / 1000:.0f} ms at {latest:%H:%M} UTC; "
            f"worst p95 of {len(self.percentiles)} minutes {worst / 1000:.0f} ms"
        )


def look(cloud: Clients, endpoint: str, minutes: int) -> Health:
    """Ask CloudWatch about an endpoint. ``minutes`` is at most a day, so that the answers fit in some pages."""
    wanted = [(FIRST_AUDIO, percentile) for percentile in _PERCENTILES]
    wanted += [(name, "Sum") for name in (SESSIONS, *ERRORS, REFUSALS)]
    points = _points(cloud.client("cloudwatch"), endpoint, wanted, minutes)
    middle, high = (points[FIRST_AUDIO, percentile] for percentile in _PERCENTILES)
    return Health(
        minutes,
        {minute: (middle[minute], high[minute]) for minute in middle.keys() & high.keys()},
        sum(points[SESSIONS, "Sum"].values()),
        {name: sum(points[name, "Sum"].values()) for name in (*ERRORS, REFUSALS)},
        _raised(cloud.client("cloudwatch"), endpoint),
        _scaling(cloud, endpoint),
    )


def _points(
    client: Any, endpoint: str, wanted: list[tuple[str, str]], minutes: int
) -> dict[tuple[str, str], dict[datetime, float]]:
    now = datetime.now(UTC)
    dimensions = [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": VARIANT}]
    pages = client.get_paginator("get_metric_data").paginate(
        StartTime=now - timedelta(minutes=minutes),
        EndTime=now,
        MetricDataQueries=[
            {
                "Id": f"m{number}",
                "MetricStat": {
                    "Metric": {"Namespace": NAMESPACE, "MetricName": name, "Dimensions": dimensions},
                    "Period": 60,
                    "Stat": statistic,
                },
            }
            for number, (name, statistic) in enumerate(wanted)
        ],
    )
    found: dict[tuple[str, str], dict[datetime, float]] = {key: {} for key in wanted}
    for page in pages:
        for result in page["MetricDataResults"]:
            key = wanted[int(result["Id"].removeprefix("m"))]
            found[key].update(zip(result["Timestamps"], result["Values"], strict=True))
    return found


def _raised(client: Any, endpoint: str) -> tuple[str, ...]:
    pages = client.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{endpoint}-", StateValue="ALARM")
    return tuple(alarm["AlarmName"] for page in pages for alarm in page.get("MetricAlarms", []))


def _scaling(cloud: Clients, endpoint: str) -> str:
    """A scale-out that the quota refuses is to be seen here and nowhere else."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

    resource = f"endpoint/{endpoint}/variant/{VARIANT}"
    with contextlib.suppress(BotoCoreError, ClientError, KeyError):
        client = cloud.client("application-autoscaling")
        if not client.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[resource])[
            "ScalableTargets"
        ]:
            return ""
        activities = client.describe_scaling_activities(
            ServiceNamespace="sagemaker", ResourceId=resource, MaxResults=1
        )["ScalingActivities"]
        for activity in activities:
            if activity["StatusCode"] != _QUIET:
                return f"{activity['StatusCode']}: {activity.get('StatusMessage') or activity.get('Description', '')}"
    return ""
