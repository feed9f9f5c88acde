"""A deployed endpoint as a way to a container: through AWS only, so that nothing behind SageMaker can be seen."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from contract_tests.client import Client, Session
from contract_tests.reach import HttpReply, Reach
from live_tests.cloud import Cloud

__all__ = ["Deployed"]


class Deployed(Reach):
    """The endpoint of a live run. ``witness`` is told of every session when it is over."""

    without = "and behind a deployed endpoint only SageMaker does that"

    def __init__(self, cloud: Cloud, endpoint: str, witness: Callable[[Session], None] | None = None) -> None:
        self.cloud = cloud
        self.endpoint = endpoint
        self.witness = witness

    @property
    def url(self) -> str:
        """There is none; checks ask for the capability first."""
        raise RuntimeError("the container behind a deployed endpoint has no address of its own")

    def client(self) -> AbstractAsyncContextManager[Client]:
        """Hold an SDK client of the region open."""
        return Client.connect(self.cloud.settings.streaming_url, self.cloud.account(), self.witness)

    async def post(self, body: str, content_type: str, within: float) -> HttpReply:
        """Send the body with InvokeEndpoint; a ModelError holds the container's own status and body."""
        return await asyncio.to_thread(self._invoke, body, content_type, within)

    def _invoke(self, body: str, content_type: str, within: float) -> HttpReply:
        began = time.monotonic()

        def reply(status: int | None, kind: str = "", content: bytes = b"", problem: str = "") -> HttpReply:
            now = time.monotonic() - began
            return HttpReply(status, kind, content, problem, now, now)

        try:
            answer = self.cloud.client("sagemaker-runtime", within).invoke_endpoint(
                EndpointName=self.endpoint, Body=body.encode(), ContentType=content_type
            )
            return reply(200, answer.get("ContentType", ""), answer["Body"].read())
        except ReadTimeoutError:
            return reply(None, problem=f"no end within {within:.0f} s")
        except ClientError as error:
            status = error.response.get("OriginalStatusCode")
            if not status:
                return reply(None, problem=str(error))
            content = str(error.response.get("OriginalMessage", "")).encode()
            return reply(int(status), _kind(content), content)
        except BotoCoreError as error:
            return reply(None, problem=str(error))


def _kind(content: bytes) -> str:
    try:
        json.loads(content)
    except ValueError:
        return ""
    return "application/json"
