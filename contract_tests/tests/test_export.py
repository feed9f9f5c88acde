"""Verdicts as JSON: the file that programs read after a run."""

import json
from pathlib import Path

from contract_tests.export import SCHEMA
from contract_tests.tests.test_run import ROOT, app, run


def test_a_run_leaves_its_verdicts_as_json(tmp_path: Path) -> None:
    report = tmp_path / "verdicts.json"
    code, output, _ = run(
        tmp_path, "--target", app(tmp_path), "--contract-json", str(report), "-k", "CT0 or CT1-", f"--rootdir={ROOT}"
    )
    assert code == 1, output
    document = json.loads(report.read_text("utf-8"))
    assert document["schema"] == SCHEMA
    assert document["profile"] == "sagemaker"
    assert "mine:app" in document["target"]
    good, bad = document["verdicts"]
    assert (good["id"], good["status"]) == ("CT0", "PASS")
    assert (bad["id"], bad["level"], bad["status"]) == ("CT1", "MUST", "FAIL")
    assert "KeyError('text')" in bad["behaviour"]["causes"][0]
    assert bad["behaviour"]["fix"]["after"]
    assert "frame.default-binary" in [fact["id"] for fact in bad["facts"]]
    assert any("BINARY" in line for line in bad["wire_log"])
    assert bad["container_output"][-1] == "KeyError: 'text'"
    assert good["container_output"] == []


def test_a_file_in_no_directory_is_refused_before_the_run(tmp_path: Path) -> None:
    code, output, _ = run(tmp_path, "--contract-json", str(tmp_path / "no" / "x.json"), f"--rootdir={ROOT}")
    assert code == 4
    assert "does not exist" in output
