"""What the run has left in CloudWatch; the last file of the run, since metrics and logs come late."""

import pytest

from live_tests.budget import Budget
from live_tests.cloud import Cloud
from live_tests.description import Description
from live_tests.parity.report import Findings
from live_tests.plugin import OutOfTime
from live_tests.telemetry import log_lines, metric_names
from live_tests.waiting import until

pytestmark = pytest.mark.live

_PATIENCE_S = 300.0
_EVERY_S = 10.0
_NOT_HERE = "the emulator writes neither metrics nor logs to CloudWatch"


def test_metrics_appear_in_cloudwatch(
    live: Cloud,
    live_endpoint: Description,
    live_budget: Budget,
    live_findings: Findings,
    live_out_of_time: OutOfTime,
) -> None:
    cloudwatch = live.client("cloudwatch")
    patience = min(0.0 if live.settings.local else _PATIENCE_S, live_budget.left)
    found = until(lambda: metric_names(cloudwatch, live_endpoint.name), patience, _EVERY_S)
    if not found and live.settings.local:
        pytest.skip(_NOT_HERE)
    if not found and patience < _PATIENCE_S:
        live_out_of_time()
    assert found, (
        f"no metric of {live_endpoint.name} within {patience:.0f} s in AWS/SageMaker or /aws/sagemaker/Endpoints"
    )
    live_findings.measurements["metrics"] = found


def test_the_container_s_log_is_in_cloudwatch(
    live: Cloud, live_endpoint: Description, live_budget: Budget, live_out_of_time: OutOfTime
) -> None:
    logs = live.client("logs")
    patience = min(0.0 if live.settings.local else _PATIENCE_S, live_budget.left)
    found = until(lambda: log_lines(logs, live_endpoint.name), patience, _EVERY_S)
    if not found and live.settings.local:
        pytest.skip(_NOT_HERE)
    if not found and patience < _PATIENCE_S:
        live_out_of_time()
    assert found, (
        f"nothing in the log group /aws/sagemaker/Endpoints/{live_endpoint.name} within {patience:.0f} s. The "
        "execution role needs logs:CreateLogGroup, CreateLogStream and PutLogEvents; the container writes to stdout."
    )
