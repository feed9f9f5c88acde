"""What ``status`` shows of the last minutes."""

from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from deploy import health

FOUR, FIVE = (datetime(2026, 11, 30, 14, minute, tzinfo=UTC) for minute in (4, 5))


class Aws:
    """CloudWatch and the scaling service; answers in pages."""

    def __init__(self, values: dict[tuple[str, str], dict[datetime, float]], **more: Any) -> None:
        self.values = values
        self.alarms: list[str] = more.get("alarms", [])
        self.activity: dict[str, str] | None = more.get("activity")
        self.scaled: bool = more.get("scaled", True)
        self.asked: list[Any] = []

    def client(self, _: str, /) -> Any:
        return self

    def get_paginator(self, operation: str) -> Any:
        class Paginator:
            paginate = staticmethod(getattr(self, operation))

        return Paginator

    def get_metric_data(self, **asked: Any) -> Any:
        self.asked.append(asked)
        for query in asked["MetricDataQueries"]:
            stat = query["MetricStat"]
            known = self.values.get((stat["Metric"]["MetricName"], stat["Stat"]), {})
            for minute, value in known.items():  # a page for each value
                yield {"MetricDataResults": [{"Id": query["Id"], "Timestamps": [minute], "Values": [value]}]}

    def describe_alarms(self, **asked: Any) -> Any:
        assert asked == {"AlarmNamePrefix": "tts-", "StateValue": "ALARM"}
        return [{"MetricAlarms": [{"AlarmName": name} for name in self.alarms]}]

    def describe_scalable_targets(self, **asked: Any) -> Any:
        assert asked["ResourceIds"] == ["endpoint/tts/variant/primary"]
        return {"ScalableTargets": [{}] if self.scaled else []}

    def describe_scaling_activities(self, **asked: Any) -> Any:
        assert asked["ResourceId"] == "endpoint/tts/variant/primary"
        if self.activity is None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "DescribeScalingActivities")
        return {"ScalingActivities": [self.activity]}


def test_percentiles_are_those_of_the_latest_minute_and_of_the_worst_and_counts_are_added() -> None:
    aws = Aws(
        {
            ("FirstChunkLatency", "p50"): {FOUR: 90_000, FIVE: 52_000},
            ("FirstChunkLatency", "p95"): {FOUR: 300_400, FIVE: 81_000},
            ("Invocations", "Sum"): {FOUR: 7, FIVE: 3},
            ("MidStreamErrors", "Sum"): {FOUR: 1, FIVE: 1},
        },
        alarms=["tts-MidStreamErrors"],
        activity={"StatusCode": "Failed", "StatusMessage": "quota of 1 instance"},
    )
    lines = dict(health.look(aws, "tts", 60).lines())
    assert lines["first audio"] == "p50 52 ms, p95 81 ms at 14:05 UTC; worst p95 of 2 minutes 300 ms"
    assert lines["sessions"] == "10 in 60 minutes"
    assert "MidStreamErrors 2" in lines["errors"]
    assert "Invocation4XXErrors 0" in lines["errors"]
    assert lines["alarms"] == "tts-MidStreamErrors"
    assert lines["scaling"] == "Failed: quota of 1 instance"
    asked = aws.asked[0]
    assert (asked["EndTime"] - asked["StartTime"]).total_seconds() == 3600
    dimensions = asked["MetricDataQueries"][0]["MetricStat"]["Metric"]["Dimensions"]
    assert {each["Name"]: each["Value"] for each in dimensions} == {"EndpointName": "tts", "VariantName": "primary"}


def test_an_endpoint_that_nobody_has_used_yet() -> None:
    lines = dict(health.look(Aws({}), "tts", 15).lines())
    assert lines["first audio"] == "no sessions in the last 15 minutes"
    assert (lines["sessions"], lines["alarms"]) == ("0 in 15 minutes", "none is raised")
    assert "scaling" not in lines  # it could not be asked, and nothing is claimed
    unscaled = Aws({}, scaled=False, activity={"StatusCode": "Failed", "StatusMessage": "of an earlier time"})
    assert "scaling" not in dict(health.look(unscaled, "tts", 15).lines())
    well = Aws({}, activity={"StatusCode": "Successful", "StatusMessage": ""})
    assert "scaling" not in dict(health.look(well, "tts", 15).lines())
