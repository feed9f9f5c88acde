"""One turn of an agent as its caller has it: boto3's ``invoke_agent_runtime``, unmodified, and all that came back."""

import http.client
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from contract_tests.agents.events import Event, read_events
from contract_tests.agents.profile import AgentProfile, Carrier
from emulator.agentcore.body import blocks

__all__ = ["Caller", "Turn", "emulated"]

_LONGEST = 3.0
"""Times the limit of silence: then a turn that still goes on is taken for one without an end."""


@dataclass
class Turn:
    """What came back. Times in seconds since the request; ``began`` on the clock of :func:`time.monotonic`.

    ``refused``: the error of the service in the place of an answer. ``broken``: how the body ended, where it was not in
    order. ``left``: whether the caller left in the middle of it.
    """

    prompt: str
    profile: AgentProfile
    began: float
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    blocks: list[tuple[float, bytes]] = field(default_factory=list)
    refused: str = ""
    broken: str = ""
    left: bool = False
    seconds: float = 0.0

    @cached_property
    def events(self) -> list[Event]:
        """The events of the body."""
        return read_events(self.blocks)

    @property
    def error(self) -> Event | None:
        """The event that says that the turn has failed."""
        return next((event for event in self.events if self.profile.is_error(event.body)), None)

    @property
    def done(self) -> bool:
        """Whether the agent says that the turn went well; of an agent without such an event, whether nothing else."""
        if self.profile.done is not None:
            return any(self.profile.is_done(event.body) for event in self.events)
        return not (self.refused or self.broken or self.left) and self.error is None and bool(self.events)

    @property
    def failed(self) -> bool:
        """Whether the caller learns that it has failed."""
        return bool(self.refused) or self.error is not None

    @property
    def texts(self) -> list[str] | None:
        """What the model wrote, as it came; None where the profile knows no such event."""
        return self._carried(self.profile.text)

    @property
    def pieces(self) -> list[str] | None:
        """The sentences as the agent's events name them, None where its profile knows no such event."""
        return self._carried(self.profile.sentence)

    @property
    def audio(self) -> list[tuple[float, str]]:
        """When audio came, and its base64."""
        carrier = self.profile.audio
        found = ((event.at, carrier.text_of(event.body)) for event in self.events) if carrier else ()
        return [(at, text) for at, text in found if text is not None]

    def _carried(self, carrier: Carrier | None) -> list[str] | None:
        if carrier is None:
            return None
        return [text for event in self.events if (text := carrier.text_of(event.body)) is not None]

    def describe(self) -> str:
        """Say in one sentence what came back."""
        if self.refused:
            return f"no stream but {self.refused} after {self.seconds:.1f} s"
        count = len(self.events)
        last = f", the last one: {self.events[-1]}" if self.events else ""
        how = self.broken or ("the caller left" if self.left else "then the body ended in order")
        return f"{count} event{'s' if count != 1 else ''} in {self.seconds:.1f} s{last}; {how}"

    def log(self) -> list[str]:
        """Return the wire log: what was asked, and each event with its time."""
        lines = [f"{0:8.3f}  client → AgentCore  InvokeAgentRuntime {self.profile.render(self.prompt).decode()}"]
        lines += [f"{event.at:8.3f}  client ← AgentCore  event {event}" for event in self.events]
        return [
            *lines,
            f"{self.seconds:8.3f}  {self.refused or self.broken or ('left' if self.left else 'end of body')}",
        ]


class Caller:
    """Takes turns with one agent, one at a time. ``client``: boto3's, of bedrock-agentcore, which asks only once."""

    def __init__(self, client: Any, arn: str, profile: AgentProfile) -> None:
        self._client = client
        self._arn = arn
        self._profile = profile

    def take(
        self,
        prompt: str,
        session: str | None = None,
        *,
        leave: Callable[[Turn], bool] = lambda _: False,
        seen: Callable[[Turn], None] = lambda _: None,
    ) -> Turn:
        """Ask and read to the end, or until ``leave`` says so; ``seen`` is told of each block.

        ``session``: the conversation that it belongs to, by default one of its own.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        turn = Turn(prompt, self._profile, time.monotonic())
        try:
            answer: Any = self._client.invoke_agent_runtime(
                agentRuntimeArn=self._arn,
                runtimeSessionId=session or f"contract-{uuid.uuid4()}",
                contentType="application/json",
                accept="text/event-stream",
                payload=self._profile.render(prompt),
            )
            turn.content_type = str(answer.get("contentType", ""))
            turn.headers = answer["ResponseMetadata"]["HTTPHeaders"]
            self._read(answer["response"], turn, leave, seen)
        except ClientError as error:
            turn.refused = str(error)
        except BotoCoreError as error:
            turn.broken = f"no answer: {error}"
        turn.seconds = time.monotonic() - turn.began
        return turn

    def _read(self, body: Any, turn: Turn, leave: Callable[[Turn], bool], seen: Callable[[Turn], None]) -> None:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        longest = _LONGEST * self._profile.timeout
        try:
            for block in blocks(body):
                now = time.monotonic() - turn.began
                turn.blocks.append((now, block))
                turn.__dict__.pop("events", None)
                seen(turn)
                if leave(turn):
                    turn.left = True
                    break
                if now > longest:
                    turn.broken = f"it went on for more than {longest:g} s"
                    break
        except (HTTPError, http.client.HTTPException, OSError) as error:
            late = "timed out" in str(error).lower()
            turn.broken = f"nothing came for {self._profile.timeout:g} s" if late else f"the body broke off: {error}"
        finally:
            body.close()


@contextmanager
def emulated(environment: Mapping[str, str], read_timeout: float) -> Iterator[Any]:
    """Yield a client of the AgentCore that ``environment`` names, instead of the process's own."""
    import boto3  # noqa: PLC0415 - the checks of a container do without it
    from botocore.config import Config  # noqa: PLC0415

    client = boto3.session.Session(
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name=environment["AWS_REGION"],
    ).client(
        "bedrock-agentcore",
        endpoint_url=environment["AWS_ENDPOINT_URL_BEDROCK_AGENTCORE"],
        verify=environment["AWS_CA_BUNDLE"],
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=read_timeout),
    )
    try:
        yield client
    finally:
        client.close()
