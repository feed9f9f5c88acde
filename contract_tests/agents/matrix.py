"""Every check of agents against every agent of the test bench: ``python -m contract_tests.agents.matrix [--own]``.

Each broken agent has to fail its own check and no other MUST check, and the good one none. With ``--own`` a broken one
is judged by the check alone that has to catch it.
"""

import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import uvicorn

from contract_tests.agents.bench import agent_bench
from contract_tests.agents.broken import AGENTS, Agent
from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.agents.good.model import forget
from contract_tests.agents.good.surroundings import SURROUNDINGS
from contract_tests.agents.profile import load_agent_profile
from contract_tests.agents.runner import judge_agent
from contract_tests.grid import problems, table
from contract_tests.verdict import Level, Status, Verdict
from emulator.certificates import Certificates
from emulator.environment import environment_of

__all__ = ["AgentMatrix", "measure"]

_AT_ONCE = 4
_PROFILE = "voice-agent"


@dataclass(frozen=True)
class AgentMatrix:
    """What every check said of every agent; ``seconds`` is the wall time of the whole."""

    rows: Sequence[tuple[Agent, Sequence[Verdict]]]
    seconds: float

    def problems(self) -> Iterator[str]:
        """Yield one text for each cell that is not what the agent's registration says."""
        for agent, verdicts in self.rows:
            failures = {each.id: each for each in verdicts if each.status is Status.FAIL and each.level is Level.MUST}
            yield from problems(agent, failures)

    def lines(self) -> Iterator[str]:
        """Yield the table: a row for each agent, a column for each check."""
        yield from table(self.rows, AGENT_CHECKS)
        yield f"{len(self.rows)} agents, {len(AGENT_CHECKS)} checks, {self.seconds:.0f} s"


def measure(agents: Sequence[Agent] = AGENTS, *, own_only: bool = False) -> AgentMatrix:
    """Serve the agents, a few at a time, each with all that it needs, and judge them.

    ``own_only``: a broken agent is judged by the check alone that has to catch it.
    """
    began = time.monotonic()
    authority = {"SSL_CERT_FILE": str(Certificates.load().bundle)}  # the CRT reads nothing else
    with environment_of(authority), ThreadPoolExecutor(_AT_ONCE) as pool:
        verdicts = list(pool.map(partial(_judge, own_only=own_only), agents))
    return AgentMatrix(list(zip(agents, verdicts, strict=True)), time.monotonic() - began)


def _judge(agent: Agent, *, own_only: bool) -> list[Verdict]:
    checks = [check for check in AGENT_CHECKS if not own_only or agent.caught_by in {None, check.id}]
    surroundings: dict[str, str] = {}
    with _served(agent, surroundings) as url, agent_bench(url, load_agent_profile(_PROFILE)) as bench:
        surroundings |= {**bench.stage.environment, "SPEECH_ENDPOINT": bench.stage.endpoint}
        return [judge_agent(check, bench) for check in checks]


@contextmanager
def _served(agent: Agent, surroundings: Mapping[str, str]) -> Iterator[str]:
    """Serve an agent on a thread of its own, so that one that blocks its event loop blocks no other."""
    module, name = agent.app.split(":")
    config = uvicorn.Config(getattr(import_module(module), name), log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            SURROUNDINGS.set(surroundings)  # for all that runs on this thread
            server.run(sockets=[listener])

        thread = threading.Thread(target=run, name=agent.name, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
            forget(surroundings.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", ""))


def main() -> int:
    """Print the matrix; return 1 if a cell is not as it should be."""
    matrix = measure(own_only="--own" in sys.argv[1:])
    found = list(matrix.problems())
    sys.stdout.write("\n".join([*matrix.lines(), *found]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
