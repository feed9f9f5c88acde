"""The agent's runtime as a deployment looks at it."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from deploy import agents
from deploy.cloud import Cloud
from deploy.errors import DeployError

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/speech_agent-0123456789"


def frame(event: object) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


class Runtime:
    """AgentCore's data plane and control plane."""

    def __init__(self, body: bytes = b"", refusal: int | None = None, status: str = "READY") -> None:
        self.stream = io.BytesIO(body)
        self.refusal = refusal
        self.status = status

    def invoke_agent_runtime(self, **asked: Any) -> Any:
        assert asked["agentRuntimeArn"] == ARN
        assert len(asked["runtimeSessionId"]) >= 33
        if self.refusal is not None:
            raise ClientError({"ResponseMetadata": {"HTTPStatusCode": self.refusal}}, "InvokeAgentRuntime")
        return {"response": StreamingBody(self.stream, None)}

    def get_agent_runtime(self, **_: Any) -> Any:
        return {
            "status": self.status,
            "failureReason": "the image is not for arm64",
            "agentRuntimeArtifact": {"containerConfiguration": {"containerUri": "registry/agent@sha256:1"}},
        }


def cloud(runtime: Runtime, *, rehearsal: bool = False) -> Cloud:
    made = Cloud(None, "123456789012", "us-east-1", rehearsal=rehearsal)
    made._clients |= {"bedrock-agentcore": runtime, "bedrock-agentcore-control": runtime}  # noqa: SLF001
    return made


def test_a_turn_counts_the_events_whatever_line_ends_their_text_holds() -> None:
    texts = ["One\u2028two", "three\u0085four\x1c", "five"]  # str.splitlines would cut there, and the JSON with it
    body = frame({"type": "agent_start"}) + b": keep-alive\n\n"
    body += b"".join(frame({"type": "text", "text": text}) for text in texts) + frame({"type": "done"})
    runtime = Runtime(body)
    assert str(agents.turn(cloud(runtime), ARN)) == "1 agent_start, 3 text, 1 done"
    assert runtime.stream.closed


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        (Runtime(frame({"type": "error", "message": "no voice"})), "with an error: no voice"),
        (Runtime(frame({"error": "boom", "error_type": "RuntimeError"})), "with an error: boom"),
        (Runtime(b""), "with no event"),
        (Runtime(frame({"type": "text"})[:-1]), "did not answer: the agent's stream ended inside an event"),
        (Runtime(b"data: <html>\n\n"), "did not answer: an event of the agent is no JSON"),
        (Runtime(refusal=403), "did not answer"),
        (Runtime(refusal=500), "did not answer"),
    ],
)
def test_a_turn_that_fails_says_how(runtime: Runtime, told: str) -> None:
    with pytest.raises(DeployError, match=told):
        agents.turn(cloud(runtime), ARN)


def test_a_rehearsal_says_that_nobody_stands_in_for_agentcore() -> None:
    with pytest.raises(agents.NotEmulatedError):
        agents.turn(cloud(Runtime(refusal=501), rehearsal=True), ARN)


def test_a_runtime_that_is_not_ready_says_why() -> None:
    assert agents.ready(cloud(Runtime()), "speech_agent-1") == "registry/agent@sha256:1"
    with pytest.raises(DeployError, match="is CREATE_FAILED: the image is not for arm64"):
        agents.ready(cloud(Runtime(status="CREATE_FAILED")), "speech_agent-1")
