"""The deployed agent: in bidi mode it is heard while it still thinks, in batch mode only afterwards."""

import statistics
from dataclasses import asdict
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from live_tests.agent import READ_TIMEOUT_S, AgentError, Mode, Turn, compare, invoke, take_turn
from live_tests.cloud import Cloud
from live_tests.parity.other_services import agent_turn
from live_tests.parity.report import Findings
from live_tests.plugin import Billing

pytestmark = pytest.mark.live

_TURNS = 3
_PROMPT = "Tell me a short story about a robot learning to sing. Use about six sentences."
_COST = f"{2 * _TURNS + 1} answers of the agent, a few cents for the model and the runtime's seconds"


def _turns(client: Any, runtime: str, sessions: list[tuple[str, str | None]]) -> dict[Mode, list[Turn]]:
    """Take turns in both modes, in changing order; one goes before them that pays for a cold start."""
    turns: dict[Mode, list[Turn]] = {"bidi": [], "batch": []}
    take_turn(invoke(client, runtime, _PROMPT, "bidi"), "bidi")
    for number in range(_TURNS):
        modes: tuple[Mode, ...] = ("bidi", "batch") if number % 2 else ("batch", "bidi")
        for mode in modes:
            turns[mode].append(take_turn(invoke(client, runtime, _PROMPT, mode, sessions), mode))
    return turns


def test_the_agent_is_heard_earlier_in_bidi_mode(
    live: Cloud, live_agent: str, live_billing: Billing, live_findings: Findings
) -> None:
    live_billing(_COST)
    client = live.client("bedrock-agentcore", READ_TIMEOUT_S)
    sessions: list[tuple[str, str | None]] = []
    try:
        turns = _turns(client, live_agent, sessions)
    except (AgentError, ClientError, BotoCoreError) as error:
        pytest.fail(f"the agent does not answer: {error}", pytrace=False)
    agent_turn(live_agent, sessions, live_findings.ledger)
    lines = compare(turns["bidi"], turns["batch"])
    live_findings.notes += lines
    live_findings.measurements["agent"] = {mode: [asdict(turn) for turn in taken] for mode, taken in turns.items()}
    silent = [turn for taken in turns.values() for turn in taken if turn.first_audio is None]
    assert not silent, f"{len(silent)} answers came to their end without audio"
    late = [turn for turn in turns["bidi"] if not turn.overlaps]
    assert not late, f"in {len(late)} of {_TURNS} turns in bidi mode no sentence was spoken until the text was finished"
    bidi, batch = (statistics.median(turn.first_audio or 0.0 for turn in turns[mode]) for mode in ("bidi", "batch"))
    assert bidi < batch, "\n".join(lines)
