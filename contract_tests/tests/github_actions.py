"""As much of GitHub's runner as it takes to run the shell steps of a composite action here."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

__all__ = ["Job", "read"]


def read(path: Path) -> Any:
    """Return a YAML document as dicts, lists and strings."""
    return YAML(typ="safe", pure=True).load(path)


@dataclass
class Job:
    """One job on a runner: ``workspace`` is the checked-out repository of the container, ``temporary`` RUNNER_TEMP."""

    workspace: Path
    temporary: Path
    log: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)

    def run(self, action: Path, given: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Run the action's steps as its user's job would; returns the exit status and the outputs."""
        document = read(action / "action.yml")
        inputs = {name: given.get(name, str(each.get("default", ""))) for name, each in document["inputs"].items()}
        wrong = set(given) - set(inputs)
        missing = {name for name, each in document["inputs"].items() if each.get("required") and name not in given}
        if wrong or missing:
            raise ValueError(f"inputs that there are not: {wrong}; that are missing: {missing}")
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"runner.temp": str(self.temporary), "github.action_path": str(action)}
        status = 0
        for step in document["runs"]["steps"]:
            if "run" not in step:  # another action: nothing of ours
                continue
            status, outputs = self._step(step, known)
            known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            if status:
                break
        named = document.get("outputs", {}).items()
        return status, {name: _expanded(each["value"], known) for name, each in named}

    def _step(self, step: dict[str, Any], known: dict[str, str]) -> tuple[int, dict[str, str]]:
        if step["shell"] != "bash":
            raise ValueError(step["shell"])
        script = self.temporary / "step.sh"
        output, path = self.temporary / "output", self.temporary / "path"
        script.write_text(_expanded(step["run"], known), "utf-8")
        for file in (output, path):
            file.write_text("", "utf-8")
        folder = self.workspace / _expanded(step.get("working-directory", "."), known)
        ours = {name: _expanded(str(value), known) for name, value in step.get("env", {}).items()}
        runner = {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_PATH": str(path),
            "PATH": os.pathsep.join([*self.path, *_search_path()]),
        }
        done = subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=folder,
            env={**_bare(), **runner, **ours},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        self.log.append(done.stdout)
        self.path = [*path.read_text("utf-8").split(), *self.path]
        outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        return done.returncode, outputs


def _expanded(text: str, known: dict[str, str]) -> str:
    """Fill in expressions that are names; any other one is a KeyError."""
    return re.sub(r"\$\{\{\s*(.+?)\s*\}\}", lambda match: known[match[1]], text)


def _bare() -> dict[str, str]:
    """Return the environment without what this test run has set for itself."""
    return {name: value for name, value in os.environ.items() if not re.match(r"AWS_|PYTEST_|PYTHON|VIRTUAL_ENV", name)}


def _search_path() -> list[str]:
    """Return PATH with uv and Python 3.12 in it, as a runner has them, and without this environment's commands."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise FileNotFoundError("uv")
    mine = str(Path(sys.prefix) / "bin")
    others = [each for each in os.environ.get("PATH", "").split(os.pathsep) if each != mine]
    return [str(Path(sys.base_prefix) / "bin"), str(Path(uv).parent), *others]
