"""The image's health check says what /ping says."""

import os
import socket
import subprocess
import sys

import pytest

from container.kokoro.settings import Settings
from container.kokoro.tests.conftest import serve


def check(port: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "container.kokoro.health"]
    return subprocess.run(command, env={**os.environ, "PORT": str(port)}, capture_output=True, text=True, check=False)


def test_it_says_what_ping_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(Settings()) as served:
        assert check(served.port).returncode == 0
        monkeypatch.setattr(served.app.state.model, "_speech", None)
        unwell = check(served.port)
        monkeypatch.undo()
    assert unwell.returncode == 1
    assert "503" in unwell.stdout
    assert "the model is" in unwell.stdout


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gone = check(port)
    assert gone.returncode == 1
    assert f"GET /ping on port {port}" in gone.stderr
    assert check("many").returncode == 1
