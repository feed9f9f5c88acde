"""From settings to templates: a cloud assembly for the ``cdk`` command, made once for each set of values."""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from deploy import node
from deploy.settings import Settings

__all__ = ["SynthesisError", "assembly", "existing", "synthesise"]

App = Literal["speech", "agent"]


class SynthesisError(Exception):
    """Raised when the stacks cannot be made, or cdk-nag finds something that nobody has acknowledged."""


def synthesise(app: App, settings: Settings, directory: Path) -> Path:
    """Write the templates of an app into ``directory``. Needs no account, no credentials and no network.

    Raises:
        SynthesisError: the directory cannot be written; or with what CDK or cdk-nag said.
    """
    _require_writable(directory)
    os.environ["JSII_NODE"] = str(node.node())  # read when jsii starts its child
    from deploy import apps  # noqa: PLC0415  # starts Node

    build = apps.speech_app if app == "speech" else apps.agent_app
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            build(settings, directory).synth()
    except RuntimeError as error:  # what jsii makes of every exception in Node
        raise SynthesisError(f"The stacks could not be made:\n{_findings(directory) or error}") from None
    return directory


def assembly(app: App, settings: Settings, root: Path) -> Path:
    """Return the cloud assembly of an app below ``root``; values that were synthesised before are not again."""
    made_from = [version("aws-cdk-lib"), app, dataclasses.astuple(settings)]
    made_from += [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    directory = root / f"{app}-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:12]}"
    if not (directory / "manifest.json").is_file():
        draft = directory.with_name(f"{directory.name}.{os.getpid()}.tmp")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        try:
            synthesise(app, settings, draft)
            with contextlib.suppress(OSError):  # another process was faster
                draft.rename(directory)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return directory


def existing(app: App, root: Path, stack: str, account: str, region: str) -> Path | None:
    """Return an assembly below ``root`` that has a stack of this account and region, the newest one."""
    for path in sorted(root.glob(f"{app}-*/manifest.json"), key=lambda path: path.stat().st_mtime, reverse=True):
        artifact = json.loads(path.read_text("utf-8")).get("artifacts", {}).get(stack, {})
        if artifact.get("environment") == f"aws://{account}/{region}":
            return path.parent
    return None


def _require_writable(directory: Path) -> None:
    """See that files can be written; in a folder that the kernel refuses, Node would try for ever."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise SynthesisError(
            f"Nothing can be written to {directory} ({error.strerror}). Name a folder that is writable, or that can be "
            "made."
        ) from None


def _findings(directory: Path) -> str:
    """Return what cdk-nag found, a line each."""
    try:
        report = json.loads((directory / "validation-report.json").read_text("utf-8"))
        lines = [
            f"  {violation['ruleName']}: {violation['description']}"
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return "\n".join(lines)
