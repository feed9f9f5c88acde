"""Running the checks of agents."""

import base64
import binascii
import time

from contract_tests.agents.bench import AgentBench
from contract_tests.agents.check import AgentCheck
from contract_tests.agents.voice import SAMPLE_RATE
from contract_tests.lastwords import last_words
from contract_tests.sound import Sound
from contract_tests.verdict import Status, Verdict

__all__ = ["judge_agent"]


def judge_agent(check: AgentCheck, bench: AgentBench) -> Verdict:
    """Run one check and return its verdict, not yet graded."""
    began = time.monotonic()
    written = bench.stage.heard
    bench.turns.clear()
    outcome = behaviour, closing, _ = check.run(bench)
    failed = Status.FAIL in {behaviour.status, closing.status}
    said = last_words(bench.stage.output(written)) if failed else ()
    return check.verdict(outcome, output=said, sound=_sound(bench), seconds=time.monotonic() - began)


def _sound(bench: AgentBench) -> Sound | None:
    """Return the audio of the last turn that had any, as a caller would play it: each event decoded by itself."""
    turn = next((turn for turn in reversed(bench.turns) if turn.audio), None)
    if turn is None:
        return None
    pcm = bytearray()
    for _, text in turn.audio:
        try:
            pcm += base64.b64decode(text)
        except binascii.Error:
            continue
    return Sound(bytes(pcm), SAMPLE_RATE, f"the turn {turn.prompt!r}")
