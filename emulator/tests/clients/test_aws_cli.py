"""The AWS CLI: an endpoint made, asked and deleted with nothing but the emulator's environment variables."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from emulator import Emulator
from emulator.controlplane.startup import Lifecycle
from emulator.tests.clients.environment import ROOT, python_environment

IMAGE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/model:1"
QUICK = Lifecycle(startup_limit=60, starting_interval=0.05, running_interval=0.05, stop_grace=0.5)


class Cli:
    """``aws``, as a user would type it."""

    def __init__(self, environment: dict[str, str]) -> None:
        # the program itself would be looked up by its first line, which names a path of this machine
        self._command = [str(python_environment("awscli")), "-m", "awscli"]
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self._environment = {**kept, **environment, "AWS_PAGER": ""}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments],
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def __call__(self, *arguments: str) -> Any:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None


def test_an_endpoint_from_creation_to_deletion(state_directory: Path, tmp_path: Path) -> None:
    images = {IMAGE: f"{sys.executable} -m emulator.tests.model {{port}}"}
    with Emulator(local_images=images, lifecycle=QUICK, state_directory=state_directory) as emulator:
        aws = Cli(emulator.environment)
        role = "arn:aws:iam::000000000000:role/r"
        aws("sagemaker", "create-model", "--model-name", "m", "--primary-container", f"Image={IMAGE}",
            "--execution-role-arn", role)  # fmt: skip
        variant = "VariantName=AllTraffic,ModelName=m,InstanceType=ml.g5.xlarge,InitialInstanceCount=1"
        aws("sagemaker", "create-endpoint-config", "--endpoint-config-name", "c", "--production-variants", variant)
        created = aws("sagemaker", "create-endpoint", "--endpoint-name", "voice", "--endpoint-config-name", "c")
        assert created["EndpointArn"].endswith(":endpoint/voice")
        deadline = time.monotonic() + 60
        while (found := aws("sagemaker", "describe-endpoint", "--endpoint-name", "voice"))["EndpointStatus"] != (
            "InService"
        ):
            assert found["EndpointStatus"] == "Creating", found
            assert time.monotonic() < deadline
        answer = tmp_path / "answer"
        body = tmp_path / "body"
        body.write_bytes(bytes(range(256)))
        asked = aws("sagemaker-runtime", "invoke-endpoint", "--endpoint-name", "voice", "--content-type",
                    "application/octet-stream", "--body", f"fileb://{body}", str(answer))  # fmt: skip
        assert asked["InvokedProductionVariant"] == "AllTraffic"
        assert answer.read_bytes() == b"hello " + bytes(range(256))

        failed = aws.run(
            "sagemaker-runtime", "invoke-endpoint", "--endpoint-name", "nobody", "--body", "x", str(answer)
        )
        assert failed.returncode != 0
        assert "(ValidationError) when calling the InvokeEndpoint operation: Endpoint nobody" in failed.stderr

        aws("sagemaker", "delete-endpoint", "--endpoint-name", "voice")
        gone = aws.run("sagemaker", "describe-endpoint", "--endpoint-name", "voice")
        assert gone.returncode != 0
        assert "(ValidationException) when calling the DescribeEndpoint operation: Could not find" in gone.stderr
