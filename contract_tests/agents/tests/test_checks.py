"""The checks of agents are tested by what they catch, and by what they leave alone."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.agents.bench import agent_bench, deployed_bench
from contract_tests.agents.broken import AGENTS
from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.agents.checks.life_cycle import LifeCycle
from contract_tests.agents.checks.splitter import Splitter
from contract_tests.agents.checks.sse_safe import SseSafe
from contract_tests.agents.profile import load_agent_profile
from contract_tests.agents.runner import judge_agent
from contract_tests.agents.script import SCRIPT
from contract_tests.agents.stage import staged
from contract_tests.agents.turn import emulated
from contract_tests.verdict import Status
from emulator.agentcore.start import AgentStartError

STANDIN = next(agent for agent in AGENTS if agent.caught_by is None)


def test_each_broken_agent_fails_its_own_check() -> None:
    # a process of its own: agents that are left in the middle leave tasks of the CRT behind, which complain at the end
    command = [sys.executable, "-m", "contract_tests.agents.matrix", "--own"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout or done.stderr
    assert f"{len(AGENTS)} agents" in done.stdout


def test_every_check_has_an_agent_that_it_catches() -> None:
    assert {agent.caught_by for agent in AGENTS} == {None, *(check.id for check in AGENT_CHECKS)}
    assert all(agent.cause and "https://" in agent.stands_for for agent in AGENTS if agent.caught_by)


def test_of_an_agent_that_is_not_ours_what_can_be_seen_is_judged() -> None:
    with (
        staged(STANDIN.app, SCRIPT) as elsewhere,
        agent_bench(elsewhere.url, load_agent_profile("agentcore")) as bench,
    ):
        framing, splitter, life = (judge_agent(check, bench) for check in (SseSafe(), Splitter(), LifeCycle()))
    assert framing.status is Status.PASS, framing
    assert splitter.status is Status.NOT_APPLICABLE
    assert life.status is Status.PASS, life
    assert "cannot be made to fail" in life.behaviour.observed


@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("standin", set()),
        ("raw-separators", {"CT20"}),
        ("forgets-tail", {"CT21"}),
        ("cuts-at-dots", {"CT21"}),
        ("shared-buffer", {"CT21"}),
    ],
)
def test_a_deployed_agent_is_judged_through_its_runtime_alone(name: str, failing: set[str]) -> None:
    agent = next(agent for agent in AGENTS if agent.name == name)
    profile = load_agent_profile("voice-agent")
    with staged(agent.app, SCRIPT) as stage, emulated(stage.environment, profile.timeout) as client:
        bench = deployed_bench(client, stage.arn, profile)  # reaches neither /ping, nor model, nor voice
        verdicts = [judge_agent(check, bench) for check in AGENT_CHECKS]
    assert {verdict.id for verdict in verdicts if verdict.status is Status.FAIL} == failing, verdicts
    assert all(verdict.status is Status.PASS for verdict in verdicts if verdict.id not in failing), verdicts
    wrong = [verdict.behaviour.causes[0] for verdict in verdicts if verdict.id in failing]
    assert all(agent.cause in cause for cause in wrong), wrong


def test_an_agent_that_is_not_there_is_no_verdict() -> None:
    with (
        pytest.raises(AgentStartError, match="is the agent running"),
        agent_bench("http://127.0.0.1:1", load_agent_profile("agentcore")),
    ):
        pass


def contract(folder: Path, *arguments: str) -> tuple[int, str, list[dict[str, object]]]:
    """Run ``contract check``; return exit status, output and verdicts."""
    file = folder / "verdicts.json"
    command = [sys.executable, "-m", "contract_tests.cli.main", "check", *arguments, f"--json={file}"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "150"},
    )
    verdicts = json.loads(file.read_text("utf-8"))["verdicts"] if file.exists() else []
    return done.returncode, done.stdout, verdicts


def test_the_voice_agent_of_this_repository_passes(tmp_path: Path) -> None:
    code, output, verdicts = contract(tmp_path, "agent")
    assert code == 0, output
    sides = [(each["id"], each["behaviour"]["status"], each["closing"]["status"]) for each in verdicts]  # type: ignore[index]
    assert sides == [("CT20", "PASS", "PASS"), ("CT21", "PASS", "PASS"), ("CT22", "PASS", "PASS")]


def test_a_broken_agent_is_told_what_to_do(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, output, verdicts = contract(
        tmp_path,
        "agent:contract_tests.agents.broken.odd_base64:app",
        "--profile=voice-agent",
        "--only=CT20",
        f"--html={page}",
    )
    assert code == 1, output
    words = re.sub(r"\s+", " ", output)
    for part in (
        "CT20 sse-safe (MUST): FAIL",
        "audio events decode to an odd number of bytes, the first is event 0 with 4,063",
        "Each frame of the voice is encoded as it came",
        "+ whole = len(pcm) // 2 * 2",
        "client ← AgentCore event",
        "Why AgentCore does that",
    ):
        assert part in words, output
    assert [each["id"] for each in verdicts] == ["CT20"]
    assert "client ↔ AgentCore" in page.read_text("utf-8")


def test_an_agent_that_does_not_come_up_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text("raise SystemExit('no key')\n", "utf-8")
    code, output, _ = contract(tmp_path, f"agent:{tmp_path}/gone.py:app", "--only=CT20")
    assert code == 3, output
    assert "no key" in output
