"""Nothing is asked, and nothing promised, where nothing is deployed."""

from pathlib import Path

import pytest

from deploy import leftovers, stacks
from deploy.cloud import Cloud
from deploy.tests.terminal import Typed


@pytest.fixture
def outputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An account with nothing in it; where the outputs file would be."""
    path = tmp_path / "outputs.json"
    monkeypatch.setenv("DEPLOY_OUTPUTS", str(path))
    monkeypatch.setattr(Cloud, "connect", lambda _: Cloud(None, "123456789012", "us-east-1", rehearsal=False))
    monkeypatch.setattr(stacks, "find", lambda *_: None)
    monkeypatch.setattr(leftovers, "find", lambda *_: [])
    return path


@pytest.mark.parametrize("yes", ["", " --yes"])
def test_there_is_no_endpoint_to_destroy(typed: Typed, outputs: Path, yes: str) -> None:
    said = typed(f"speech-infra destroy{yes}", expected=0)
    assert said.endswith("speech-endpoint: not there\nWhat stays:\nnothing left\n")
    assert not outputs.exists()


@pytest.mark.parametrize("yes", ["", " --yes"])
def test_there_is_no_agent_to_destroy(typed: Typed, outputs: Path, yes: str) -> None:
    said = typed(f"agent-infra destroy{yes}", expected=0)
    assert said.endswith("agent-runtime: not there\n")
    assert not outputs.exists()


@pytest.mark.parametrize("tool", ["speech-infra", "agent-infra"])
def test_a_status_of_nothing_writes_nothing(typed: Typed, outputs: Path, tool: str) -> None:
    assert "none, nothing is deployed here" in typed(f"{tool} status", expected=0)
    assert not outputs.exists()
