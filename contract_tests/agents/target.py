"""What names an agent on the command line: ``agent``, or ``agent:`` and how to reach or start one."""

import shlex
import sys
from dataclasses import dataclass

from emulator import target
from emulator.agentcore.start import AgentStartError, agent_command
from emulator.target import TargetSyntaxError

__all__ = ["AGENT_TARGETS", "AgentTarget", "agent_target"]

AGENT_TARGETS = """\
  agent                 the voice agent of this repository
  agent:WHAT            another AgentCore agent: MODULE:APP, FILE.py:APP, http://HOST:PORT, or a program with {port};
                        started here, it gets the addresses of the emulator and SPEECH_ENDPOINT"""
_OWN = "agent"
_PREFIX = "agent:"


@dataclass(frozen=True, slots=True)
class AgentTarget:
    """An agent; ``given`` is what :func:`emulator.agentcore.start.agent_container` takes, ``name`` what was typed."""

    given: str
    name: str

    @property
    def profile(self) -> str:
        """The profile to judge it by, where none is asked for."""
        return "voice-agent" if self.given == _OWN else "agentcore"

    def __str__(self) -> str:
        return "the voice agent of this repository" if self.given == _OWN else f"the agent {self.name}"


def agent_target(text: str | None) -> AgentTarget | None:
    """Return the agent that ``--target`` names, None where it names a container.

    Raises:
        TargetSyntaxError: it should name an agent and does not.
    """
    if text == _OWN:
        return AgentTarget(_OWN, _OWN)
    if text is None or not text.startswith(_PREFIX):
        return None
    given = text.removeprefix(_PREFIX).removeprefix("command:")
    if given.partition(":")[0].endswith(".py"):
        app = target.parse(given)
        command = [sys.executable, "-m", "uvicorn", "--app-dir", app.folder, app.address, "--host", "127.0.0.1"]
        return AgentTarget(f"{shlex.join(command)} --port {{port}} --no-access-log", given)
    try:
        agent_command(given)
    except AgentStartError as error:
        raise TargetSyntaxError(
            text,
            "behind 'agent:' stands no agent (MODULE:APP, FILE.py:APP, http://HOST:PORT or a program with {port})",
        ) from error
    return AgentTarget(given, given)
