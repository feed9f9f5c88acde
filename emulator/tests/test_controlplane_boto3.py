"""boto3 against the whole emulator: the control plane starts containers, both data planes reach them by name."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
)
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from smithy_http.aio.crt import AWSCRTHTTPClient

from emulator import Emulator
from emulator.controlplane.startup import Lifecycle
from emulator.tests.test_front import ask

IMAGE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/model:1"
MODES = ("exits", "never-healthy", "wrong-port", "ignores-sigterm")
QUICK = Lifecycle(startup_limit=6, starting_interval=0.05, running_interval=0.05, stop_grace=0.5)


@dataclass
class Cloud:
    """The emulator, and boto3 as a user would make it."""

    emulator: Emulator
    session: boto3.session.Session

    def client(self, service: str) -> Any:
        return self.session.client(service)

    def deploy(self, name: str, image: str = IMAGE, **environment: str) -> None:
        sagemaker = self.client("sagemaker")
        self.configure(f"{name}-1", image, **environment)
        sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=f"{name}-1")

    def configure(self, config: str, image: str = IMAGE, **environment: str) -> None:
        sagemaker = self.client("sagemaker")
        sagemaker.create_model(
            ModelName=config,
            PrimaryContainer={"Image": image, "Environment": environment},
            ExecutionRoleArn="arn:aws:iam::000000000000:role/r",
        )
        sagemaker.create_endpoint_config(
            EndpointConfigName=config,
            ProductionVariants=[
                {
                    "VariantName": "AllTraffic",
                    "ModelName": config,
                    "InstanceType": "ml.g5.xlarge",
                    "InitialInstanceCount": 1,
                }
            ],
        )

    def settled(self, name: str) -> dict[str, Any]:
        """Return the endpoint's description when it is neither Creating nor Updating."""
        sagemaker = self.client("sagemaker")

        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = sagemaker.describe_endpoint(EndpointName=name)
            return found if found["EndpointStatus"] in ("InService", "Failed") else None

        return until(look)

    def ask(self, name: str, body: bytes = b"you") -> bytes:
        answer: bytes = self.client("sagemaker-runtime").invoke_endpoint(EndpointName=name, Body=body)["Body"].read()
        return answer


def until[T](look: Callable[[], T | None], limit: float = 20) -> T:
    deadline = time.monotonic() + limit
    while (found := look()) is None:
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)  # the API has no event to wait for
    return found


@pytest.fixture(scope="module")
def cloud(state_directory: Path) -> Iterator[Cloud]:
    command = f"{sys.executable} -m emulator.tests.model {{port}}"
    images = {IMAGE: command} | {mode: f"{command} {mode}" for mode in MODES} | {"no-such-program": "/nonexistent"}
    with (
        Emulator(local_images=images, lifecycle=QUICK, state_directory=state_directory) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in emulator.environment.items():
            patch.setenv(name, value)
        yield Cloud(emulator, boto3.session.Session())
    assert not [line for line in commands() if "emulator.tests.model" in line or "moto_main" in line]


def commands() -> list[str]:
    """Return the command lines of this process's children."""
    mine = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                mine.append((stat.parent / "cmdline").read_text().replace("\0", " "))
    return mine


@contextlib.asynccontextmanager
async def conversation(endpoint: str) -> AsyncIterator[Callable[[bytes], Any]]:
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
    sdk = AsyncSageMakerRuntimeHTTP2Client(config=config)
    stream = await sdk.invoke_endpoint_with_bidirectional_stream(
        InvokeEndpointWithBidirectionalStreamInput(endpoint_name=endpoint)
    )
    _, output = await stream.await_output()

    async def say(data: bytes) -> bytes:
        part = RequestPayloadPart(bytes_=data, data_type="UTF8")
        await stream.input_stream.send(RequestStreamEventPayloadPart(value=part))
        event: Any = await output.receive()
        answer: bytes = event.value.bytes_
        return answer

    try:
        yield say
    finally:
        await stream.input_stream.close()
        await sdk.close()


async def test_the_life_of_an_endpoint(cloud: Cloud, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"  # until they are there, an endpoint is on its way
    async with asyncio.timeout(60):
        await asyncio.to_thread(cloud.deploy, "voice", GREETING="hello", READY=str(first))
        sagemaker = cloud.client("sagemaker")
        created = sagemaker.describe_endpoint(EndpointName="voice")
        assert created["EndpointStatus"] == "Creating"
        with pytest.raises(ClientError, match="Endpoint voice of account 000000000000 not found"):
            await asyncio.to_thread(cloud.ask, "voice")
        first.touch()
        described = await asyncio.to_thread(cloud.settled, "voice")
        assert described["EndpointStatus"] == "InService"
        assert "FailureReason" not in described
        assert described["ProductionVariants"][0]["VariantName"] == "AllTraffic"
        assert described["ProductionVariants"][0]["CurrentWeight"] == 1
        assert described["ProductionVariants"][0]["DeployedImages"][0]["SpecifiedImage"] == IMAGE
        assert described["EndpointArn"] == "arn:aws:sagemaker:us-west-2:000000000000:endpoint/voice"

        async with conversation("voice") as say:
            assert await say(b"stream") == b"hello stream"
            assert await asyncio.to_thread(cloud.ask, "voice") == b"hello you"
            response = await asyncio.to_thread(
                cloud.client("sagemaker-runtime").invoke_endpoint_with_response_stream, EndpointName="voice", Body=b"x"
            )
            assert b"".join(event["PayloadPart"]["Bytes"] for event in response["Body"]) == b"hello x"

            await asyncio.to_thread(cloud.configure, "voice-2", GREETING="goodbye", READY=str(second))
            await asyncio.to_thread(sagemaker.update_endpoint, EndpointName="voice", EndpointConfigName="voice-2")
            with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
                sagemaker.update_endpoint(EndpointName="voice", EndpointConfigName="voice-1")
            second.touch()
            updated = await asyncio.to_thread(cloud.settled, "voice")
            assert (updated["EndpointStatus"], updated["EndpointConfigName"]) == ("InService", "voice-2")
            assert await asyncio.to_thread(cloud.ask, "voice") == b"goodbye you"
            assert await say(b"stream") == b"hello stream"  # an open stream stays on the old container
            assert sum("emulator.tests.model" in line for line in commands()) == 2
        async with conversation("voice") as say:
            assert await say(b"stream") == b"goodbye stream"
        await asyncio.to_thread(until, lambda: sum("emulator.tests.model" in line for line in commands()) == 1 or None)

        sagemaker.delete_endpoint(EndpointName="voice")
        with pytest.raises(ClientError, match="Could not find endpoint"):
            sagemaker.describe_endpoint(EndpointName="voice")
        with pytest.raises(ClientError, match="not found"):
            await asyncio.to_thread(cloud.ask, "voice")
    assert "was killed" not in caplog.text


def test_each_variant_has_its_own_container_and_weights_can_be_changed(cloud: Cloud) -> None:
    sagemaker, runtime = cloud.client("sagemaker"), cloud.client("sagemaker-runtime")
    for colour in ("blue", "green"):
        sagemaker.create_model(
            ModelName=colour,
            PrimaryContainer={"Image": IMAGE, "Environment": {"GREETING": colour}},
            ExecutionRoleArn="arn:aws:iam::000000000000:role/r",
        )
    common = {"InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}
    weighted = [("blue", 1), ("green", 0)]
    sagemaker.create_endpoint_config(
        EndpointConfigName="coloured",
        ProductionVariants=[
            {"VariantName": name, "ModelName": name, "InitialVariantWeight": weight, **common}
            for name, weight in weighted
        ],
    )
    sagemaker.create_endpoint(EndpointName="coloured", EndpointConfigName="coloured")
    described = cloud.settled("coloured")
    assert described["EndpointStatus"] == "InService"
    assert [(each["VariantName"], each["CurrentWeight"]) for each in described["ProductionVariants"]] == weighted
    assert sum("emulator.tests.model" in line for line in commands()) == 2
    assert {cloud.ask("coloured") for _ in range(5)} == {b"blue you"}

    answer = runtime.invoke_endpoint(EndpointName="coloured", TargetVariant="green", Body=b"you")
    assert (answer["InvokedProductionVariant"], answer["Body"].read()) == ("green", b"green you")
    with pytest.raises(ClientError, match=r"ValidationError.*Variant red not found .* It has blue, green"):
        runtime.invoke_endpoint(EndpointName="coloured", TargetVariant="red", Body=b"you")

    change = [{"VariantName": "blue", "DesiredWeight": 0}, {"VariantName": "green", "DesiredWeight": 1}]
    sagemaker.update_endpoint_weights_and_capacities(EndpointName="coloured", DesiredWeightsAndCapacities=change)
    assert {cloud.ask("coloured") for _ in range(5)} == {b"green you"}
    assert [each["CurrentWeight"] for each in cloud.settled("coloured")["ProductionVariants"]] == [0, 1]
    with pytest.raises(ClientError, match="no variant would get traffic"):
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName="coloured", DesiredWeightsAndCapacities=[{"VariantName": "green", "DesiredWeight": 0}]
        )
    assert sum("emulator.tests.model" in line for line in commands()) == 2  # nothing was started anew
    sagemaker.delete_endpoint(EndpointName="coloured")
    until(lambda: not any("emulator.tests.model" in line for line in commands()) or None)


def test_one_variant_that_does_not_come_up_fails_the_endpoint_and_stops_the_other(cloud: Cloud) -> None:
    cloud.configure("half-good")
    cloud.configure("half-bad", "exits")
    common = {"InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1}
    cloud.client("sagemaker").create_endpoint_config(
        EndpointConfigName="half",
        ProductionVariants=[{"VariantName": n, "ModelName": n, **common} for n in ("half-good", "half-bad")],
    )
    cloud.client("sagemaker").create_endpoint(EndpointName="half", EndpointConfigName="half")
    described = cloud.settled("half")
    assert described["EndpointStatus"] == "Failed"
    assert "for production variant half-bad did not pass" in described["FailureReason"]
    until(lambda: not any("emulator.tests.model" in line for line in commands()) or None)
    cloud.client("sagemaker").delete_endpoint(EndpointName="half")


@pytest.mark.parametrize(
    ("image", "cause"),
    [
        ("exits", r"exited with status 3 after .* Last output of the container:\nloading the model\nCUDA driver"),
        ("never-healthy", r"did not answer 200 within 6 s; at last it answered HTTP 503, expected is 200"),
        ("wrong-port", r"nothing accepts connections at .* does the container listen on"),
        ("no-such-program", r"the local command for no-such-program cannot be run"),
    ],
)
def test_a_container_that_does_not_come_up_fails_with_its_cause(image: str, cause: str, cloud: Cloud) -> None:
    cloud.deploy(image, image)
    described = cloud.settled(image)
    assert described["EndpointStatus"] == "Failed"
    reason = described["FailureReason"]
    assert reason.startswith(
        "The primary container for production variant AllTraffic did not pass the ping health check. "
        "Please check CloudWatch logs for this endpoint. (Emulator: "
    )
    assert re.search(cause, reason, re.DOTALL), reason
    cloud.client("sagemaker").delete_endpoint(EndpointName=image)


def test_a_failed_update_goes_back_to_the_old_configuration(cloud: Cloud) -> None:
    cloud.deploy("steady", GREETING="old")
    assert cloud.settled("steady")["EndpointStatus"] == "InService"
    cloud.configure("steady-2", "exits")
    cloud.client("sagemaker").update_endpoint(EndpointName="steady", EndpointConfigName="steady-2")
    described = cloud.settled("steady")
    assert (described["EndpointStatus"], described["EndpointConfigName"]) == ("InService", "steady-1")
    assert "FailureReason" not in described
    assert cloud.ask("steady") == b"old you"
    cloud.client("sagemaker").delete_endpoint(EndpointName="steady")


def test_a_container_that_ignores_sigterm_is_killed_and_flagged(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    cloud.deploy("deaf", "ignores-sigterm")
    assert cloud.settled("deaf")["EndpointStatus"] == "InService"
    cloud.client("sagemaker").delete_endpoint(EndpointName="deaf")
    until(lambda: True if "did not end within 0.5 s of SIGTERM and was killed" in caplog.text else None)


def test_what_moto_refuses_stays_refused(cloud: Cloud) -> None:
    sagemaker = cloud.client("sagemaker")
    with pytest.raises(ClientError, match=r"Could not find endpoint.config"):
        sagemaker.create_endpoint(EndpointName="nope", EndpointConfigName="nope")
    sagemaker.create_model(
        ModelName="m", PrimaryContainer={"Image": IMAGE}, ExecutionRoleArn="arn:aws:iam::000000000000:role/r"
    )
    variant = {"VariantName": "v", "ModelName": "m", "InstanceType": "g5.xlarge", "InitialInstanceCount": 1}
    with pytest.raises(ClientError, match=r"Value 'g5.xlarge' at 'instanceType' failed to satisfy constraint"):
        sagemaker.create_endpoint_config(EndpointConfigName="bad", ProductionVariants=[variant])


def test_every_other_service_is_moto_s_own_answer(cloud: Cloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="weights", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="weights", Key="a/model.bin", Body=bytes(3_000_000), Metadata={"k": "v"})
    assert s3.head_object(Bucket="weights", Key="a/model.bin")["ContentLength"] == 3_000_000
    assert s3.get_object(Bucket="weights", Key="a/model.bin")["Body"].read() == bytes(3_000_000)
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket="weights", Key="nothing")
    s3.delete_object(Bucket="weights", Key="a/model.bin")
    assert cloud.client("sts").get_caller_identity()["Account"] == "000000000000"
    assert cloud.client("iam").list_roles()["Roles"] == []
    assert cloud.client("sqs").create_queue(QueueName="q")["QueueUrl"].startswith(f"{cloud.emulator.url}/")


def test_a_stack_starts_and_stops_the_container_too(cloud: Cloud) -> None:
    template = f"""{{"Resources": {{
      "Model": {{"Type": "AWS::SageMaker::Model", "Properties": {{
        "ExecutionRoleArn": "arn:aws:iam::000000000000:role/r", "ModelName": "stacked-model",
        "PrimaryContainer": {{"Image": "{IMAGE}", "Environment": {{"GREETING": "stack"}}}}}}}},
      "Config": {{"Type": "AWS::SageMaker::EndpointConfig", "Properties": {{
        "EndpointConfigName": "stacked-config",
        "ProductionVariants": [{{"VariantName": "AllTraffic", "ModelName": {{"Fn::GetAtt": ["Model", "ModelName"]}},
          "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1, "InitialVariantWeight": 1}}]}}}},
      "Endpoint": {{"Type": "AWS::SageMaker::Endpoint", "Properties": {{
        "EndpointName": "stacked", "EndpointConfigName": {{"Fn::GetAtt": ["Config", "EndpointConfigName"]}}}}}}
    }}}}"""
    cloudformation = cloud.client("cloudformation")
    cloud.client("s3").create_bucket(Bucket="templates", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    cloud.client("s3").put_object(Bucket="templates", Key="t.json", Body=template.encode())
    cloudformation.create_stack(StackName="s", TemplateURL=f"{cloud.emulator.url}/templates/t.json")
    assert cloud.settled("stacked")["EndpointStatus"] == "InService"
    assert cloud.ask("stacked") == b"stack you"
    cloudformation.delete_stack(StackName="s")
    with pytest.raises(ClientError, match="not found"):
        cloud.ask("stacked")


def test_moto_s_process_cannot_reach_another_machine_and_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "emulator.controlplane.moto_main"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("secret\n")
        process.stdin.flush()
        moto = boto3.session.Session("AKIDEXAMPLE", "secret", region_name="us-west-2").client(
            "sns",
            endpoint_url=f"http://127.0.0.1:{int(process.stdout.readline())}",
            config=Config(retries={"total_max_attempts": 1}),
        )
        # SNS is a service where moto itself opens connections: it sends the message to the subscriber
        topic = moto.create_topic(Name="t")["TopicArn"]
        moto.subscribe(TopicArn=topic, Protocol="http", Endpoint="http://192.0.2.1/")
        with pytest.raises(ResponseParserError, match="500 Internal Server Error"):
            moto.publish(TopicArn=topic, Message="hello")
        moto.close()
        _, errors = process.communicate(timeout=20)  # closes its input
    assert "WARNING moto wants to reach 192.0.2.1" in errors
    assert process.returncode == 0


def test_a_failure_of_moto_is_an_error_that_clients_can_read(cloud: Cloud) -> None:
    emulator = cloud.emulator
    # a form post to a bucket without its fields: moto raises KeyError
    status, body = ask(emulator, "PUT", "/bucket")
    assert status == 200
    status, body = ask(emulator, "POST", "/bucket", b"x=y", **{"content-type": "application/x-www-form-urlencoded"})
    assert status == 500
    assert json.loads(body)["message"].startswith("moto failed at POST /bucket; its traceback is on standard error")
