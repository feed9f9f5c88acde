"""The ``docker`` command: is it there, can it build, does its engine run, and one call of it."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from deploy.errors import DeployError

__all__ = ["INSTALL", "LOWEST_BUILDX", "Docker", "look", "run"]

LOWEST_BUILDX = (0, 10)
"""The first with --provenance and --sbom, without which it writes an index that SageMaker does not take."""
INSTALL = (
    "Install Docker with buildx (or name a program that takes the same commands in DEPLOY_DOCKER), or push an image by "
    "other means and give its digest with --image."
)
"""What to do where there is no docker."""
_LOOK_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class Docker:
    """What is there of docker. What could not be asked, since a part before it is missing, is None."""

    program: str | None = None
    buildx: str | None = None
    """What buildx says of its version; "" where docker has none."""
    engine_problem: str | None = None
    """Why the engine does not answer, "" where it does."""

    @property
    def builds(self) -> bool:
        """Whether buildx is there and new enough."""
        return bool(self.buildx) and not self.is_old

    @property
    def is_old(self) -> bool:
        """Whether buildx is one that does not know its options here; some builds, and other programs, do not say."""
        found = re.search(r"buildx v?(\d+)\.(\d+)", self.buildx or "")
        return found is not None and (0, 0) < (int(found[1]), int(found[2])) < LOWEST_BUILDX


def look() -> Docker:
    """Ask the docker that would build, without building anything."""
    program = _program()
    if program is None:
        return Docker()
    status, said, _ = _ask(program, "buildx", "version")
    buildx = said.strip() if status == 0 else ""
    status, said, complaint = _ask(program, "info")
    lines = [line.strip() for line in (complaint or said).splitlines()]
    # after its reason, some versions complain that they cannot print what they do not have
    reasons = [line.removeprefix("ERROR: ") for line in lines if line and not line.startswith("WARNING")]
    reason = reasons[0] if reasons else f"'docker info' ended with status {status}"
    return Docker(program, buildx, reason if status else "")


def run(arguments: Sequence[str], limit: float, said: str | None = None) -> None:
    """Call docker; what it prints goes to the terminal, and ``said`` to its standard input.

    Raises:
        DeployError: it is missing, failed, or took longer than ``limit`` seconds.
    """
    program = _program()
    if program is None:
        raise DeployError(f"docker is not on PATH. {INSTALL}")
    try:
        status = subprocess.run([program, *arguments], input=said, text=True, check=False, timeout=limit).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DeployError(f"docker {arguments[0]} did not end: {error}.") from None
    if status:
        raise DeployError(f"docker {arguments[0]} failed with status {status}; what it said is above.")


def _program() -> str | None:
    return shutil.which(os.environ.get("DEPLOY_DOCKER", "docker"))


def _ask(program: str, *arguments: str) -> tuple[int, str, str]:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, check=False, timeout=_LOOK_LIMIT, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, "", str(error)
    return done.returncode, done.stdout, done.stderr
