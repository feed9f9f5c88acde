"""What is asked of AWS, with scripted clients: description, telemetry, negative control."""

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from live_tests.configuration import problems
from live_tests.description import Description, NoEndpointError, Variant, describe
from live_tests.negative_control import DeploymentError, deployed
from live_tests.telemetry import log_lines, metric_names
from live_tests.waiting import until

IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/speech/kokoro@sha256:" + "ab" * 32
SETTINGS = {"VariantName": "A", "ModelName": "m", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}
AMI = {"InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1"}


def refusal(code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


class Script:
    """A boto3 client that gives scripted answers (an exception is raised) and keeps what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.asked.append((name, arguments))
            answer = self.answers.get(name, {})
            answer = answer.pop(0) if isinstance(answer, list) else answer
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def description(settings: Mapping[str, Any], **changes: Any) -> Description:
    model = changes.pop("model", {"ExecutionRoleArn": "arn:aws:iam::123456789012:role/speech"})
    variant = Variant("A", settings["InstanceType"], 1, IMAGE, dict(settings), model)
    known = {"name": "voice", "arn": "arn", "status": "InService", "reason": "", "config": "c", "variants": (variant,)}
    return Description(**(known | changes))


def test_an_endpoint_is_described_with_what_really_runs() -> None:
    sagemaker = Script(
        describe_endpoint={
            "EndpointName": "voice",
            "EndpointArn": "arn",
            "EndpointStatus": "InService",
            "EndpointConfigName": "c-2",
            "ProductionVariants": [
                {"VariantName": "A", "CurrentInstanceCount": 3, "DeployedImages": [{"ResolvedImage": IMAGE}]}
            ],
        },
        describe_endpoint_config={"ProductionVariants": [SETTINGS]},
        describe_model={"PrimaryContainer": {"Image": "kokoro:1"}},
    )
    found = describe(sagemaker, "voice")
    assert found.config == "c-2"
    assert found.variant_names == {"A"}
    assert (found.variants[0].instances, found.variants[0].image) == (3, IMAGE)
    assert ("describe_endpoint_config", {"EndpointConfigName": "c-2"}) in sagemaker.asked


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(NoEndpointError, match=r"ValidationException: Could not find.*speech-infra status"):
        describe(Script(describe_endpoint=refusal("ValidationException", "Could not find endpoint")), "voice")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (description(SETTINGS | AMI), ""),
        (description(SETTINGS), "without InferenceAmiVersion gets an old driver"),
        (description(SETTINGS | {"InstanceType": "ml.m5.large"}), ""),
        (description(SETTINGS | AMI, status="Failed", reason="no capacity"), "the endpoint is Failed: no capacity"),
        (description(SETTINGS | AMI | {"ContainerStartupHealthCheckTimeoutInSeconds": 60}), "is 60: too short"),
        (description(SETTINGS | AMI, model={"Containers": [{}, {}]}), "several containers"),
    ],
)
def test_settings_that_keep_sessions_from_working_are_named(found: Description, words: str) -> None:
    assert words in "\n".join(problems(found))
    assert bool(words) == bool(problems(found))


def test_a_log_group_that_is_not_there_yet_is_no_error() -> None:
    assert log_lines(Script(filter_log_events=refusal("ResourceNotFoundException")), "voice") is None
    assert log_lines(Script(filter_log_events={"events": []}), "voice") is None
    logs = Script(filter_log_events={"events": [{"message": "loaded"}]})
    since = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert log_lines(logs, "voice", since) == ["loaded"]
    assert logs.asked[0][1]["logGroupName"] == "/aws/sagemaker/Endpoints/voice"
    assert logs.asked[0][1]["startTime"] == 1767225600000
    with pytest.raises(ClientError):
        log_lines(Script(filter_log_events=refusal("AccessDeniedException")), "voice")


class Pages:
    def __init__(self, pages: list[list[str]]) -> None:
        self._pages = pages

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        assert asked["Dimensions"] == [{"Name": "EndpointName", "Value": "voice"}]
        return [{"Metrics": [{"MetricName": name} for name in page]} for page in self._pages]


def test_metrics_of_all_pages_and_namespaces_are_listed_once() -> None:
    class CloudWatch:
        def __init__(self, *pages: list[str]) -> None:
            self.pages = list(pages)

        def get_paginator(self, _: str) -> Pages:
            return Pages(self.pages)

    found = metric_names(CloudWatch(["Invocations", "Latency"], ["Invocations"]), "voice")
    names = ["Invocations", "Latency"]
    assert found == {"AWS/SageMaker": names, "/aws/sagemaker/Endpoints": names}
    assert metric_names(CloudWatch([]), "voice") is None


def test_waiting_asks_again_until_the_time_is_over() -> None:
    now, slept = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    looks = iter([None, None, "there"])
    assert until(lambda: next(looks), 60, 10, lambda: now, sleep) == "there"
    assert slept == [10, 10]
    assert until(lambda: None, 25, 10, lambda: now, sleep) is None
    assert slept[2:] == [10, 10, 5]


ORDER = ["create_model", "create_endpoint_config", "create_endpoint"]
CLEANUP = ["delete_endpoint", "delete_endpoint_config", "delete_model"]


def control(
    sagemaker: Script,
    failure: BaseException | None = None,
    told: Callable[[str], None] = print,
    sleep: Callable[[float], None] = lambda _: None,
) -> None:
    found = description(SETTINGS | AMI)
    with deployed(sagemaker, found, "broken:1", 60, clock=lambda: 0.0, sleep=sleep, tell=told) as name:
        assert name.startswith("negative-control-")
        if failure is not None:
            raise failure


def names(sagemaker: Script) -> list[str]:
    return [name for name, _ in sagemaker.asked if not name.startswith("describe")]


def test_the_negative_control_takes_role_and_instance_and_leaves_nothing_behind() -> None:
    sagemaker = Script(describe_endpoint=[{"EndpointStatus": "Creating"}, {"EndpointStatus": "InService"}])
    control(sagemaker)
    assert names(sagemaker) == [*ORDER, *CLEANUP]
    assert sagemaker.asked[0][1]["ExecutionRoleArn"] == "arn:aws:iam::123456789012:role/speech"
    assert sagemaker.asked[1][1]["ProductionVariants"][0]["InstanceType"] == "ml.g5.xlarge"
    assert sagemaker.asked[1][1]["ProductionVariants"][0] | AMI == sagemaker.asked[1][1]["ProductionVariants"][0]


@pytest.mark.parametrize("failure", [ValueError("a failure of the test"), KeyboardInterrupt()])
def test_it_is_deleted_when_the_test_fails_or_is_stopped(failure: BaseException) -> None:
    sagemaker = Script(describe_endpoint={"EndpointStatus": "InService"})
    with pytest.raises(type(failure)):
        control(sagemaker, failure)
    assert names(sagemaker)[3:] == CLEANUP


MISSING = refusal("ValidationException", 'Could not find endpoint "arn:aws:sagemaker:..."')
CREATING = refusal("ValidationException", "Cannot update in-progress endpoint")


def test_what_was_made_before_a_refusal_is_deleted() -> None:
    sagemaker = Script(
        create_endpoint=refusal("ResourceLimitExceeded", "quota 0 for ml.g5.xlarge"), delete_endpoint=MISSING
    )
    with pytest.raises(DeploymentError, match=r"quota 0 for ml\.g5\.xlarge$"):
        control(sagemaker)
    assert names(sagemaker)[3:] == CLEANUP


@pytest.mark.parametrize("at", range(3))
def test_what_aws_made_without_its_answer_arriving_is_deleted(at: int) -> None:
    lost = ReadTimeoutError(endpoint_url="https://api.sagemaker.eu-west-1.amazonaws.com")
    sagemaker = Script(**{ORDER[at]: lost})
    with pytest.raises(DeploymentError, match=r"negative-control-\w+ cannot be deployed: Read timeout.*make sure: aws"):
        control(sagemaker)
    assert names(sagemaker)[at + 1 :] == CLEANUP[2 - at :]


def test_an_endpoint_that_is_still_being_created_is_deleted_once_aws_does_that() -> None:
    told: list[str] = []
    states = [{"EndpointStatus": "InService"}, *[{"EndpointStatus": "Creating"}] * 3, {"EndpointStatus": "InService"}]
    sagemaker = Script(describe_endpoint=states, delete_endpoint=[CREATING, {}])
    control(sagemaker, told=told.append)
    assert names(sagemaker)[3:] == ["delete_endpoint", *CLEANUP]
    assert "is still being created, and AWS deletes no endpoint before that is over: waiting, 60 minutes" in told[0]
    assert "aws sagemaker delete-endpoint --endpoint-name negative-control-" in told[0]


def test_an_endpoint_that_is_created_for_ever_is_named() -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    sagemaker = Script(describe_endpoint={"EndpointStatus": "Creating"}, delete_endpoint=CREATING)
    with (
        pytest.raises(DeploymentError, match=r"left behind, delete it by hand .*delete-endpoint negative-control-"),
        deployed(sagemaker, description(SETTINGS | AMI), "broken:1", 60, clock=lambda: now, sleep=sleep),
    ):
        pass
    assert now == 60 + 3600
    assert names(sagemaker)[3:] == ["delete_endpoint", *CLEANUP]


def test_who_stops_the_deletion_is_told_what_is_left() -> None:
    told: list[str] = []

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt(seconds)

    states = [{"EndpointStatus": "InService"}, {"EndpointStatus": "Creating"}, {"EndpointStatus": "Creating"}]
    with pytest.raises(KeyboardInterrupt):
        control(Script(describe_endpoint=states, delete_endpoint=CREATING), told=told.append, sleep=stop)
    for command in CLEANUP:
        assert f"{command.replace('_', '-')} negative-control-" in told[-1]


def test_an_endpoint_that_fails_is_deleted_and_says_why() -> None:
    sagemaker = Script(describe_endpoint={"EndpointStatus": "Failed", "FailureReason": "ping"})
    with pytest.raises(DeploymentError, match="is Failed: ping"):
        control(sagemaker)
    assert names(sagemaker)[3:] == CLEANUP


def test_what_cannot_be_deleted_is_named_and_the_rest_is_deleted() -> None:
    sagemaker = Script(
        describe_endpoint={"EndpointStatus": "InService"}, delete_endpoint=refusal("ValidationException", "in use")
    )
    with pytest.raises(
        DeploymentError, match=r"left behind, delete it by hand .*delete-endpoint negative-control-.*in use"
    ):
        control(sagemaker)
    assert names(sagemaker)[3:] == CLEANUP
