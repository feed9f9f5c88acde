"""Running the checks of agents."""

import time

from contract_tests.agents.bench import AgentBench
from contract_tests.agents.check import AgentCheck
from contract_tests.lastwords import last_words
from contract_tests.verdict import Status, Verdict

__all__ = ["judge_agent"]


def judge_agent(check: AgentCheck, bench: AgentBench) -> Verdict:
    """Run one check and return its verdict, not yet graded."""
    began = time.monotonic()
    written = bench.stage.heard
    bench.turns.clear()
    behaviour, closing, log = check.run(bench)
    failed = Status.FAIL in {behaviour.status, closing.status}
    return Verdict(
        id=check.id,
        name=check.name,
        level=check.level,
        stake=check.stake,
        facts=check.facts,
        behaviour=behaviour,
        closing=closing,
        log=log,
        output=last_words(bench.stage.output(written)) if failed else (),
        seconds=time.monotonic() - began,
    )
