"""The agent's runtime as AgentCore sees it: is it ready, and does it answer?"""

import contextlib
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from deploy.cloud import Cloud
from deploy.errors import DeployError
from emulator.agentcore.sse import EventReader, SseError

__all__ = ["NotEmulatedError", "Turn", "ready", "turn"]

_READY_LIMIT = 600.0
_PROMPT = "Say hello in one short sentence."
_PIECE = 65_536


class NotEmulatedError(Exception):
    """Raised in a rehearsal where nothing stands in for AgentCore's data plane."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of the agent gave: how many events of each kind."""

    events: dict[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.events.items()) or "no events"


def ready(cloud: Cloud, runtime_id: str) -> str:
    """Wait until a runtime is ready, for ten minutes at most; returns the image that it runs.

    Raises:
        DeployError: it is not ready.
    """
    end = time.monotonic() + _READY_LIMIT
    while True:
        found: dict[str, Any] = cloud.client("bedrock-agentcore-control").get_agent_runtime(agentRuntimeId=runtime_id)
        if found["status"] == "READY":
            break
        if found["status"] not in ("CREATING", "UPDATING") or time.monotonic() > end:
            reason = found.get("failureReason", "no reason given")
            raise DeployError(f"The runtime {runtime_id} is {found['status']}: {reason}")
        time.sleep(0.5 if cloud.rehearsal else 5.0)
    image: str = found["agentRuntimeArtifact"].get("containerConfiguration", {}).get("containerUri", "")
    return image


def turn(cloud: Cloud, arn: str) -> Turn:
    """Have one turn with the agent.

    Raises:
        DeployError: it fails, or sends an error event.
        NotEmulatedError: in a rehearsal, nobody stands in for it.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # slow

    reader, kinds = EventReader(), dict[str, int]()
    try:
        answer = cloud.client("bedrock-agentcore").invoke_agent_runtime(
            agentRuntimeArn=arn,
            runtimeSessionId=f"smoke-{uuid.uuid4()}",  # 33 characters at least
            contentType="application/json",
            accept="text/event-stream",
            payload=json.dumps({"prompt": _PROMPT}).encode(),
        )
        with contextlib.closing(answer["response"]) as body:
            for piece in body.iter_chunks(_PIECE):
                for event in reader.feed(piece):
                    _count(event, kinds)
        reader.finish()
    except (BotoCoreError, ClientError, SseError) as error:
        status = getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode")
        if cloud.rehearsal and status in (404, 500, 501):
            raise NotEmulatedError(str(error)) from None
        raise DeployError(f"The agent {arn} did not answer: {error}") from None
    if not kinds:
        raise DeployError(f"The agent {arn} answered with no event.")
    return Turn(kinds)


def _count(event: dict[str, Any], kinds: dict[str, int]) -> None:
    kind = str(event.get("type", "error" if "error" in event else "event"))
    if kind == "error":
        raise DeployError(f"The agent answered with an error: {event.get('message') or event.get('error') or event}")
    kinds[kind] = kinds.get(kind, 0) + 1
