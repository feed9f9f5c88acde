"""The composite action: valid, and run step by step, as a job of somebody else's repository runs it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from contract_tests.tests.github_actions import Job, read
from contract_tests.tests.test_run import ROOT

ACTION = ROOT / ".github" / "actions" / "contract"
WORKFLOW = ROOT / "docs" / "ci" / "contract.yml"


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-actions", ACTION / "action.yml"), ("vendor.github-workflows", WORKFLOW)]
)
def test_the_files_keep_to_githubs_schemas(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    action = read(ACTION / "action.yml")
    steps = read(WORKFLOW)["jobs"]["contract"]["steps"]
    (step,) = (each for each in steps if "/.github/actions/contract@" in each.get("uses", ""))
    assert set(step["with"]) <= set(action["inputs"])
    assert {name for name, each in action["inputs"].items() if each.get("required")} <= set(step["with"])


def test_inputs_reach_the_shell_as_values_only() -> None:
    for step in read(ACTION / "action.yml")["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an expression in a script is an injection"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job whose repository has a container that imports a package of its own."""
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "app").mkdir()
    (workspace / "app" / "bad.py").write_text("import colorama\nfrom contract_tests.broken.receive_text import app\n")
    (workspace / "app" / "needs.txt").write_text("colorama\n", "utf-8")
    (workspace / "app" / "known.txt").write_text("CT1  # ticket 7\n", "utf-8")
    return Job(workspace, tmp_path_factory.mktemp("temporary"))


GIVEN = {"profile": "kokoro", "working-directory": "app", "requirements": "needs.txt", "only": "CT0 CT1"}


@pytest.mark.parametrize(
    ("more", "status", "seen"),
    [
        ({"target": "bad:app", "workers": "2"}, 1, "::error title=CT1 text-and-binary::no reply"),
        ({"target": "bad:app", "baseline": "known.txt", "skip": "CT0"}, 0, "::warning title=CT1 text-and-binary::exp"),
        ({"target": "nowhere:app"}, 3, "The target did not come up"),
        ({"target": "bad:app; touch injected"}, 4, "that is no target"),
    ],
)
def test_the_steps_run_and_end_with_the_documented_status(
    job: Job, more: dict[str, str], status: int, seen: str
) -> None:
    job.log.clear()
    ended, outputs = job.run(ACTION, GIVEN | more)
    log = "\n".join(job.log)
    assert ended == status, log
    assert outputs == {"exit-code": str(status)}
    assert seen in log
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", log)
    folder = job.workspace / "app"
    assert not (folder / "injected").exists()
    if status in {0, 1}:
        verdicts = json.loads((folder / "contract.json").read_text("utf-8"))["verdicts"]
        assert verdicts[-1]["id"] == "CT1"
        assert "contract.level" in (folder / "contract.xml").read_text("utf-8")
        assert "<title>Contract report" in (folder / "contract.html").read_text("utf-8")


def test_uv_is_installed_where_there_is_none(tmp_path: Path) -> None:
    """With stand-ins for what would fetch from outside: `python3 -m venv` and the pip in it."""
    (step,) = (each for each in read(ACTION / "action.yml")["runs"]["steps"] if each["name"] == "Install uv")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "mkdir", "cp"):
        (tools / name).symlink_to(f"/bin/{name}")
    for name, script in (("python3", f'mkdir -p "$3/bin" && cp {tools}/pip "$3/bin/pip"'), ("pip", 'echo "$*" >log')):
        (tools / name).write_text(f"#!/bin/bash\n{script}\n", "utf-8")
        (tools / name).chmod(0o755)
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={"PATH": str(tools), "TEMPORARY": str(tmp_path), "GITHUB_PATH": str(tmp_path / "path")},
        timeout=60,
        check=True,
    )
    assert (tmp_path / "log").read_text("utf-8") == "install --quiet --disable-pip-version-check uv\n"
    assert (tmp_path / "path").read_text("utf-8").strip() == f"{tmp_path}/contract-uv/bin"
