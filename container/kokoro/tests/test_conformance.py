"""The repeated contract run, with pytest replaced: that it counts and tells what it is told."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from container.kokoro import conformance


def verdict(check: str, status: str) -> dict[str, Any]:
    return {"id": check, "status": status, "behaviour": {"observed": f"what {check} saw"}}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Let the second run of hypercorn fail CT6, and write no report on torch."""
    found: list[tuple[str, bool]] = []

    def run(command: Sequence[str], *, env: dict[str, str], **_: object) -> SimpleNamespace:
        hypercorn = "hypercorn" in command
        assert hypercorn == ("container.kokoro.asgi:app" in command)
        found.append((env["KOKORO_ENGINE"], hypercorn))
        report = Path(next(word for word in command if word.startswith("--contract-json=")).partition("=")[2])
        broken = found.count(("onnx", True)) == 2
        if env["KOKORO_ENGINE"] == "onnx":
            verdicts = [verdict("CT1", "PASS"), verdict("CT3", "N/A"), verdict("CT6", "FAIL" if broken else "PASS")]
            report.write_text(json.dumps({"verdicts": verdicts}), encoding="utf-8")
        return SimpleNamespace(returncode=int(broken), stdout="no target: torch is not installed")

    monkeypatch.setattr(subprocess, "run", run)
    return found


def test_every_run_is_told_and_one_failure_is_one_too_many(
    ran: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert conformance.main(["--runs", "1"]) == 0
    assert conformance.main(["--runs", "2", "--servers", "hypercorn"]) == 1
    assert ran == [("onnx", False)] + [("onnx", True)] * 3
    printed = capsys.readouterr().out
    assert "2 of 2 runs without a failure" in printed
    assert "1 of 2 runs without a failure" in printed
    assert "1 FAIL, 1 N/A, 1 PASS" in printed
    assert "CT6 FAIL: what CT6 saw" in printed


def test_a_run_that_comes_to_nothing_says_why(ran: list[tuple[str, bool]], capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["--engines", "torch", "--servers", "uvicorn"]) == 1
    assert ran == [("torch", False)]
    printed = capsys.readouterr().out
    assert "no report; pytest ended with 0" in printed
    assert "torch is not installed" in printed
