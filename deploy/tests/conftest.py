"""Templates, synthesised once: Node needs seconds for it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from deploy.settings import AGENT_STACK, ENDPOINT_STACK, FOUNDATION_STACK, Settings
from deploy.synthesis import synthesise
from deploy.tests.terminal import typed

__all__ = ["typed"]

ACCOUNT, REGION = "123456789012", "us-east-1"
FULL = Settings(
    ACCOUNT,
    REGION,
    image_digest="sha256:" + "a" * 64,
    agent_digest="sha256:" + "b" * 64,
    model_data="models/kokoro-82m/0123456789ab/",
    max_instances=3,
    sessions_per_instance=4,
    first_audio_alarm_ms=300,
    environment=(("KOKORO_LOG", "debug"),),
)
"""Everything that can be switched on."""
PLAIN = FULL.changed(
    model_data=None,
    instance_type="ml.c7i.2xlarge",
    max_instances=None,
    sessions_per_instance=None,
    first_audio_alarm_ms=None,
    environment=(),
)

Template = dict[str, Any]


@pytest.fixture(autouse=True)
def nobody_s_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the person who runs the tests has set for AWS."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders full-speech, plain-speech and agent."""
    root = tmp_path_factory.mktemp("assemblies")
    synthesise("speech", FULL, root / "full-speech")
    synthesise("speech", PLAIN, root / "plain-speech")
    synthesise("agent", FULL, root / "agent")
    return root


@pytest.fixture(scope="session")
def foundation(assemblies: Path) -> Template:
    return read(assemblies / "full-speech", FOUNDATION_STACK)


@pytest.fixture(scope="session")
def endpoint(assemblies: Path) -> Template:
    return read(assemblies / "full-speech", ENDPOINT_STACK)


@pytest.fixture(scope="session")
def plain_endpoint(assemblies: Path) -> Template:
    return read(assemblies / "plain-speech", ENDPOINT_STACK)


@pytest.fixture(scope="session")
def agent(assemblies: Path) -> Template:
    return read(assemblies / "agent", AGENT_STACK)


def read(directory: Path, stack: str) -> Template:
    template: Template = json.loads((directory / f"{stack}.template.json").read_text("utf-8"))
    return template
