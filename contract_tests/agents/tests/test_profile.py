"""Profiles of agents, and what names an agent."""

from pathlib import Path

import pytest

from contract_tests.agents.profile import agent_profiles, load_agent_profile
from contract_tests.agents.target import AgentTarget, agent_target
from contract_tests.settings import ProfileError
from emulator.target import TargetSyntaxError


def test_the_profiles_that_come_along_can_be_loaded() -> None:
    assert agent_profiles() == ["agentcore", "voice-agent"]
    ours = load_agent_profile("voice-agent")
    assert ours.is_done({"type": "done"})
    assert ours.is_error({"type": "error"})
    assert ours.render('a "b"') == b'{"prompt": "a \\"b\\"", "mode": "bidi"}'
    assert ours.audio is not None
    assert ours.audio.text_of({"type": "audio_chunk", "data": "AA=="}) == "AA=="
    assert ours.audio.text_of({"type": "text", "data": "AA=="}) is None


def test_an_error_of_the_sdk_is_an_error_for_every_profile() -> None:
    frame = {"error": "boom", "error_type": "ValueError", "message": "An error occurred during streaming"}
    assert all(load_agent_profile(name).is_error(frame) for name in agent_profiles())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = 'x'", "request: is missing"),
        ("[request]\npayload = '{}'", "request.payload: does not hold {prompt}"),
        ("[request]\npayload = '{prompt}'\nkind = 'x'", "request.kind: is not a key"),
        ("[request]\npayload = '{prompt}'\n[events]\nknown = ['a']", "events.kind: is missing"),
        ("[request]\npayload = '{prompt}'\n[events]\ndone = {}", "done"),
        ("[request]\npayload = '{prompt}'\n[events]\naudio = { json = { a = 1 } }", "audio.member: is missing"),
        ("[request]\npayload = '{prompt}'\n[environment]\nA = 1", "environment.A: is 1"),
        ("a =", "is not TOML"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ProfileError) as caught:
        load_agent_profile(str(file))
    assert "mine.toml" in str(caught.value)
    assert words in str(caught.value)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ProfileError, match="Known: agentcore, voice-agent"):
        load_agent_profile("kokoro")


def test_what_names_an_agent(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("app = None", "utf-8")
    assert agent_target(None) is None
    assert agent_target("my_agent:app") is None
    assert agent_target("agent") == AgentTarget("agent", "agent")
    assert agent_target("agent:mine.app:app") == AgentTarget("mine.app:app", "mine.app:app")
    assert agent_target("agent:http://127.0.0.1:8080") is not None
    command = agent_target(f"agent:{tmp_path}/mine.py:app")
    assert command is not None
    assert f"--app-dir {tmp_path} mine:app" in command.given
    assert command.given.endswith("--port {port} --no-access-log")


@pytest.mark.parametrize("text", ["agent:", "agent:what", "agent:https://somewhere", "agent:gone.py:app"])
def test_what_is_no_agent(text: str) -> None:
    with pytest.raises(TargetSyntaxError):
        agent_target(text)
