"""The test bench of an agent: turns, the voice that it speaks with, its /ping, and how much of it all is ours."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from contract_tests.agents.profile import AgentProfile
from contract_tests.agents.script import HELLO, SCRIPT, prompt_of, request_of
from contract_tests.agents.stage import Stage, staged
from contract_tests.agents.turn import Caller, Turn, emulated
from contract_tests.agents.voice import Part, Voice

__all__ = ["AgentBench", "AgentPing", "agent_bench", "deployed_bench"]

_PING_TIMEOUT_S = 3.0
_STALLED_S = 0.3


@dataclass(frozen=True, slots=True)
class AgentPing:
    """One answer of /ping: HTTP status (None: none in time), what it says, and the seconds that it took."""

    status: int | None
    body: Any
    seconds: float
    problem: str = ""

    @property
    def says(self) -> str | None:
        """``Healthy`` or ``HealthyBusy``, where it says so."""
        value = self.body.get("status") if isinstance(self.body, dict) else None
        return value if isinstance(value, str) else None

    @property
    def updated(self) -> object:
        """Its ``time_of_last_update``."""
        return self.body.get("time_of_last_update") if isinstance(self.body, dict) else None

    def __str__(self) -> str:
        return self.problem or f"HTTP {self.status} {self.body!r} after {self.seconds:.2f} s"


@dataclass
class AgentBench:
    """What a check works with."""

    stage: Stage
    caller: Caller
    profile: AgentProfile
    scripted: bool | None = None
    """Whether the model's answers are ours, None where that is not known yet."""
    voiced: bool | None = None
    """Whether the voice is ours."""
    turns: list[Turn] = field(default_factory=list, init=False)
    """The turns of the check that runs."""

    @property
    def voice(self) -> Voice:
        """The speech container behind the agent."""
        return self.stage.voice

    @property
    def reached(self) -> bool:
        """Whether the agent itself can be reached, and not only the AgentCore in front of it."""
        return bool(self.stage.url)

    def take(
        self,
        tag: str,
        part: Part | None = None,
        session: str | None = None,
        *,
        leave: Callable[[Turn], bool] = lambda _: False,
        seen: Callable[[Turn], None] = lambda _: None,
    ) -> Turn:
        """Take the turn ``tag`` of the script, with a voice that plays ``part`` (by default well)."""
        self.voice.play(part or Part())
        prompt = request_of(tag) if self.scripted is False else prompt_of(tag)
        turn = self.caller.take(prompt, session, leave=leave, seen=seen)
        self.turns.append(turn)
        return turn

    def measure(self) -> None:
        """Find out once what of the agent's surroundings is ours: its voice, its model."""
        if self.scripted is not None:
            return
        turn = self.caller.take(prompt_of("hello"))
        spoken = " ".join([*self.voice.texts, *(turn.pieces or []), *(str(event) for event in turn.events)])
        self.voiced = bool(self.voice.sessions)
        self.scripted = all(word in spoken for word in HELLO.split()[:2])

    def ping(self) -> AgentPing:
        """Ask the agent's own /ping, past AgentCore.

        Where its end is noticed late, this process got no turn itself: then it asks once more.
        """
        reply = self._ping()
        stalled = reply.status is None and reply.seconds > _PING_TIMEOUT_S + _STALLED_S
        return self._ping() if stalled else reply

    def _ping(self) -> AgentPing:
        began = time.monotonic()
        try:
            reply = httpx.get(f"{self.stage.url}/ping", timeout=_PING_TIMEOUT_S, trust_env=False)
        except httpx.HTTPError as error:
            took = time.monotonic() - began
            return AgentPing(None, None, took, f"no answer ({type(error).__name__}) within {took:.1f} s")
        try:
            body = reply.json()
        except ValueError:
            body = reply.text[:100]
        return AgentPing(reply.status_code, body, time.monotonic() - began)

    def log(self) -> tuple[str, ...]:
        """Return the wire log of the last turn."""
        return tuple(self.turns[-1].log()) if self.turns else ()


@contextmanager
def agent_bench(
    agent: str, profile: AgentProfile, tell: Callable[[str], None] = lambda _: None
) -> Iterator[AgentBench]:
    """Start the agent (as ``--agent`` of ``emulator up`` names it) and what is around it.

    Raises:
        AgentStartError: it did not come up.
    """
    with (
        staged(agent, SCRIPT, profile.environment, tell) as stage,
        emulated(stage.environment, profile.timeout) as client,
    ):
        yield AgentBench(stage, Caller(client, stage.arn, profile), profile)


def deployed_bench(client: Any, arn: str, profile: AgentProfile) -> AgentBench:
    """Return the bench of an agent behind a deployed runtime: its model and its voice are its own.

    ``client`` is boto3's, of bedrock-agentcore.
    """
    return AgentBench(Stage(Voice(), arn=arn), Caller(client, arn, profile), profile, scripted=False, voiced=False)
