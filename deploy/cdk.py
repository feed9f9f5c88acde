"""The ``cdk`` command: one exact version, fetched once, run as a child."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy import node, target
from deploy.errors import DeployError

__all__ = ["LOWEST", "VERSION", "check_version", "command", "run"]

VERSION = "2.1148.1"
LOWEST = (2, 1148)
"""Older ones do not read the assembly of aws-cdk-lib 2.275; those below 2.177 ignore AWS_ENDPOINT_URL and so would
take a rehearsal to AWS (https://github.com/localstack/lstk/pull/302)."""
_INSTALL_LIMIT, _RUN_LIMIT, _VERSION_LIMIT = 300, 2 * 3600, 120
_QUIET = {
    "CDK_DISABLE_CLI_TELEMETRY": "true",
    "CDK_DISABLE_VERSION_CHECK": "true",
    "CI": "true",  # progress on standard output, no colours
}


def command() -> list[str]:
    """Return the command line of cdk: ``$DEPLOY_CDK``, or the pinned version, which is fetched where it is not there.

    Raises:
        DeployError: it cannot be fetched, or is too old.
    """
    own = os.environ.get("DEPLOY_CDK")
    if own:
        check_version(_version_of([own]), own)
        return [own]
    folder = _cache() / VERSION
    script = folder / "node_modules" / "aws-cdk" / "bin" / "cdk"
    if not script.is_file():
        _install(folder)
    with contextlib.suppress(OSError, ValueError, KeyError):
        check_version(json.loads((script.parents[1] / "package.json").read_text("utf-8"))["version"], str(script))
    return [str(node.node()), str(script)]


def check_version(version: str, program: str) -> None:
    """Refuse a cdk that is too old.

    Raises:
        DeployError: it is.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < LOWEST:
        raise DeployError(
            f"{program} is cdk {version.strip() or 'of unknown version'}; {'.'.join(map(str, LOWEST))} or newer is "
            f"needed (old ones ignore AWS_ENDPOINT_URL, so that a rehearsal would go to AWS). Unset DEPLOY_CDK: "
            f"{VERSION} is then fetched."
        )


def run(arguments: Sequence[str], assembly: Path) -> None:
    """Run cdk on an assembly; what it prints goes to the terminal.

    Raises:
        DeployError: it failed, or took over two hours.
    """
    line = [*command(), *arguments, "--app", str(assembly), "--no-notices"]
    try:
        status = subprocess.run(
            line, env=node.environment() | _QUIET, cwd=assembly, check=False, timeout=_RUN_LIMIT
        ).returncode
    except subprocess.TimeoutExpired:
        raise DeployError(
            f"cdk {arguments[0]} has not ended within two hours. CloudFormation goes on without it: look at the "
            "stack's events in the console, and run the same command again."
        ) from None
    except OSError as error:
        raise DeployError(f"cdk cannot be run: {error}.") from error
    if status:
        raise DeployError(
            f"cdk {' '.join(arguments[:2])} failed with status {status}; what it said is above. After putting that "
            "right, run the same command again: it goes on where this one stopped."
        )


def _cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "sagemaker-bidi" / "cdk"


def _install(folder: Path) -> None:
    print(f"fetching cdk {VERSION} with npm, once (silent for up to {_INSTALL_LIMIT // 60} minutes)", flush=True)
    draft = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    line = [*node.npm(), "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--loglevel=error"]
    environment = {name: value for name, value in node.environment().items() if name != "NODE_OPTIONS"}
    try:
        draft.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [*line, "--prefix", str(draft), f"aws-cdk@{VERSION}"],
            env=environment | target.PROXIES | {"npm_config_update_notifier": "false"},
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_LIMIT,
        )
        if done.returncode:
            words = [text for text in done.stderr.splitlines() if "error" in text.lower()][:4]
            raise DeployError(
                f"cdk {VERSION} could not be fetched with npm (status {done.returncode}): {' '.join(words)} Check "
                "npm's registry and proxy ('npm config list'), or point DEPLOY_CDK at a cdk of yours."
            )
        with contextlib.suppress(OSError):  # another process was faster
            draft.rename(folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeployError(f"cdk {VERSION} could not be fetched with npm: {error}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _version_of(line: list[str]) -> str:
    try:
        return subprocess.run(
            [*line, "--version"],
            env=node.environment() | _QUIET,
            capture_output=True,
            text=True,
            check=False,
            timeout=_VERSION_LIMIT,
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeployError(f"DEPLOY_CDK={line[0]} cannot be run: {error}.") from error
