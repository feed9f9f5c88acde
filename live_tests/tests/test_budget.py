"""The time of a run ends in the middle of a test: that is told as it is, and nothing is judged by it."""

from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from deploy.prices import Prices
from live_tests import test_negative_control, test_telemetry
from live_tests.budget import Budget
from live_tests.cloud import Cloud
from live_tests.parity.report import Findings
from live_tests.tests.test_aws import AMI, SETTINGS, Script, description, refusal


def out_of_time() -> NoReturn:
    pytest.skip("the time is used up")


def cloud(client: Any) -> Cloud:
    chosen = SimpleNamespace(local=False, negative_control="broken:1", prices=Prices.load())
    return cast("Cloud", SimpleNamespace(settings=chosen, client=lambda _: client))


def nearly_over() -> Budget:
    return Budget(0.05)


def test_metrics_that_there_was_no_time_for_are_not_missing() -> None:
    cloudwatch = SimpleNamespace(get_paginator=lambda _: SimpleNamespace(paginate=lambda **_: []))
    with pytest.raises(pytest.skip.Exception, match="the time is used up"):
        test_telemetry.test_metrics_appear_in_cloudwatch(
            cloud(cloudwatch), description(SETTINGS), nearly_over(), Findings(), out_of_time
        )


def test_a_log_that_there_was_no_time_for_is_not_missing() -> None:
    logs = Script(filter_log_events=refusal("ResourceNotFoundException"))
    with pytest.raises(pytest.skip.Exception, match="the time is used up"):
        test_telemetry.test_the_container_s_log_is_in_cloudwatch(
            cloud(logs), description(SETTINGS), nearly_over(), out_of_time
        )


def test_a_negative_control_that_there_was_no_time_for_has_not_failed(pytestconfig: pytest.Config) -> None:
    sagemaker = Script(describe_endpoint={"EndpointStatus": "Creating"})
    with pytest.raises(pytest.skip.Exception, match="the time is used up"):
        test_negative_control.test_a_container_that_reads_text_only_fails_here_too(
            cloud(sagemaker),
            description(SETTINGS | AMI),
            cast("Any", None),
            nearly_over(),
            lambda _: None,
            Findings(),
            out_of_time,
            pytestconfig,
        )
    assert [name for name, _ in sagemaker.asked][-3:] == ["delete_endpoint", "delete_endpoint_config", "delete_model"]
