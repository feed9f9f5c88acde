"""What stands in for AWS in these tests: the emulator with its control plane, and an endpoint deployed with boto3."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator import Emulator
from emulator.controlplane.startup import Lifecycle
from emulator.launch import launched
from emulator.target import Target

ROOT = Path(__file__).parents[2]
ENDPOINT = "voice"
AGENT = "voice_agent"
IMAGE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/voice:1"
BROKEN_IMAGE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/receive-text:1"


@dataclass
class Rehearsal:
    """An emulator with an endpoint in service, and pytest as a user runs it against the endpoint."""

    emulator: Emulator
    environment: dict[str, str]

    def client(self, service: str) -> Any:
        return boto3.session.Session(region_name="us-west-2").client(service)

    def run(
        self, cwd: Path, *arguments: str, files: tuple[str, ...] = (), endpoint: str | None = ENDPOINT
    ) -> tuple[int, str]:
        """Return exit code and output of ``pytest -m live --endpoint ... --endpoint-url ...``."""
        named = () if endpoint is None else ("--endpoint", endpoint)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-m", "live", "-p", "no:cacheprovider", "--color=no"),
                *named,
                *("--endpoint-url", self.emulator.url, "--idle-seconds", "0.2"),
                *("--profile", "kokoro"),  # the stand-in for a voice cannot be cancelled
                *arguments,
                *(str(ROOT / "live_tests" / name) for name in files or [""]),
            ],
            cwd=cwd,
            env=self.environment | {"COLUMNS": "150"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="package")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    state = tmp_path_factory.mktemp("state")
    serve = f"{sys.executable} -m uvicorn {{app}} --host 127.0.0.1 --port {{{{port}}}} --log-level warning"
    images = {
        IMAGE: serve.format(app="live_tests.tests.voice:app"),
        BROKEN_IMAGE: serve.format(app="contract_tests.broken.receive_text:app"),
    }
    quick = Lifecycle(startup_limit=180, starting_interval=0.1, running_interval=1.0)
    with (
        launched(Target("app", "live_tests.tests.scripted_agent:app"), 180, ROOT) as agent,
        Emulator(local_images=images, lifecycle=quick, state_directory=state, agents={AGENT: agent}) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in emulator.environment.items():
            patch.setenv(name, value)
        # what a user has who has set nothing: the run must find credentials and authority by itself
        bare = {name: value for name, value in os.environ.items() if not re.match(r"AWS_|SSL_CERT|NODE_EXTRA", name)}
        rehearsal = Rehearsal(emulator, bare | {"BIDI_STATE_DIR": str(state), "PYTHONPATH": str(ROOT)})
        deploy(rehearsal)
        write_telemetry(rehearsal)
        yield rehearsal


def deploy(rehearsal: Rehearsal) -> None:
    sagemaker = rehearsal.client("sagemaker")
    sagemaker.create_model(
        ModelName="voice-1",
        PrimaryContainer={"Image": IMAGE},
        ExecutionRoleArn="arn:aws:iam::000000000000:role/speech",
        EnableNetworkIsolation=True,
    )
    sagemaker.create_endpoint_config(
        EndpointConfigName="voice-1",
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "ModelName": "voice-1",
                "InstanceType": "ml.g5.xlarge",
                "InitialInstanceCount": 1,
                "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
                "ContainerStartupHealthCheckTimeoutInSeconds": 900,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName=ENDPOINT, EndpointConfigName="voice-1")
    deadline = time.monotonic() + 180
    while (status := sagemaker.describe_endpoint(EndpointName=ENDPOINT)["EndpointStatus"]) != "InService":
        assert status == "Creating", status
        assert time.monotonic() < deadline
        time.sleep(0.1)  # the API has no event to wait for
    sagemaker.close()


def write_telemetry(rehearsal: Rehearsal) -> None:
    """Play the part of the service that writes metrics and the container's log: the emulator does not."""
    cloudwatch, logs = rehearsal.client("cloudwatch"), rehearsal.client("logs")
    cloudwatch.put_metric_data(
        Namespace="/aws/sagemaker/Endpoints",
        MetricData=[
            {
                "MetricName": "CPUUtilization",
                "Dimensions": [{"Name": "EndpointName", "Value": ENDPOINT}, {"Name": "VariantName", "Value": "A"}],
                "Value": 12.0,
            }
        ],
    )
    group, stream = f"/aws/sagemaker/Endpoints/{ENDPOINT}", "AllTraffic/i-0"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    logs.put_log_events(
        logGroupName=group,
        logStreamName=stream,
        logEvents=[{"timestamp": int(time.time() * 1000), "message": "the model is loaded"}],
    )
    cloudwatch.close()
    logs.close()
