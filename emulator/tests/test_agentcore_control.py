"""``create_agent_runtime`` of boto3's ``bedrock-agentcore-control``: a local command really starts, behind the ARN."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import pytest

from emulator import Emulator
from emulator.bedrock.script import Script, Turn

AGENT = f"{sys.executable} -m uvicorn emulator.tests.scripted_agent:app --host 127.0.0.1 --port {{port}}"
BROKEN = f"{sys.executable} -c 'raise SystemExit(3)' {{port}}"


@contextlib.contextmanager
def clients(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    script = Script((Turn("One. Two.", first_token=0, tokens_per_second=0),))
    images = {"voice:1": AGENT, "broken:1": BROKEN}
    with Emulator(local_images=images, state_directory=state, bedrock_script=script) as emulator:
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        config = botocore.config.Config(retries={"total_max_attempts": 1}, read_timeout=60)
        session = boto3.session.Session()
        control = session.client("bedrock-agentcore-control", config=config)
        data = session.client("bedrock-agentcore", config=config)
        try:
            yield control, data
        finally:
            control.close()
            data.close()


def definition(image: str, endpoint: str) -> dict[str, Any]:
    return {
        "agentRuntimeArtifact": {"containerConfiguration": {"containerUri": image}},
        "roleArn": "arn:aws:iam::000000000000:role/agent",
        "networkConfiguration": {"networkMode": "PUBLIC"},
        "environmentVariables": {"SPEECH_ENDPOINT": endpoint},
    }


def settled(control: Any, agent: str) -> str:
    deadline = time.monotonic() + 60
    while (status := control.get_agent_runtime(agentRuntimeId=agent)["status"]) in ("CREATING", "UPDATING"):
        assert time.monotonic() < deadline
        time.sleep(0.1)  # as a client of AWS does
    return str(status)


def start_of(data: Any, arn: str) -> dict[str, Any]:
    payload = json.dumps({"prompt": "Hi", "mode": "bidi"}).encode()
    with contextlib.closing(data.invoke_agent_runtime(agentRuntimeArn=arn, payload=payload)["response"]) as body:
        first: dict[str, Any] = json.loads(body.read().split(b"\n")[0].removeprefix(b"data: "))
        return first


def test_a_runtime_lives_from_create_to_delete(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with clients(state_directory, monkeypatch) as (control, data):
        created = control.create_agent_runtime(agentRuntimeName="voice", **definition("voice:1", "first"))
        arn, agent = created["agentRuntimeArn"], created["agentRuntimeId"]
        assert arn.endswith(f":runtime/{agent}")
        assert created["status"] == "CREATING"
        assert settled(control, agent) == "READY"
        assert start_of(data, arn)["endpoint"] == "first"  # what the environment of the runtime says
        control.update_agent_runtime(agentRuntimeId=agent, **definition("voice:1", "second"))
        assert settled(control, agent) == "READY"
        assert start_of(data, arn)["endpoint"] == "second"
        control.delete_agent_runtime(agentRuntimeId=agent)
        with pytest.raises(data.exceptions.ResourceNotFoundException):
            start_of(data, arn)


def test_a_runtime_that_does_not_start_fails_and_one_of_the_books_only_is_ready(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clients(state_directory, monkeypatch) as (control, data):
        broken = control.create_agent_runtime(agentRuntimeName="broken", **definition("broken:1", "x"))
        assert settled(control, broken["agentRuntimeId"]) == "CREATE_FAILED"
        # an image without a command on this machine stays in the books, as moto keeps it
        other = control.create_agent_runtime(agentRuntimeName="other", **definition("elsewhere/agent:1", "x"))
        assert settled(control, other["agentRuntimeId"]) == "READY"
        with pytest.raises(data.exceptions.ResourceNotFoundException):
            start_of(data, other["agentRuntimeArn"])
