"""What a deployment made, for those who use it: the file that ``speech-infra`` and ``agent-infra`` keep."""

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

__all__ = ["Outputs", "OutputsError", "default_path", "load", "save", "update"]

_KEYS = {"endpoint": "EndpointName", "region": "Region", "agent_runtime_arn": "AgentRuntimeArn"}


class OutputsError(Exception):
    """Raised when the file is absent or is not what a deployment writes."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What is deployed. A part that is not is None."""

    endpoint: str | None = None
    region: str | None = None
    agent_runtime_arn: str | None = None

    def changed(self, **changes: str | None) -> Self:
        """Return a copy with some parts replaced."""
        return dataclasses.replace(self, **changes)


def default_path() -> Path:
    """Return where the file is kept: ``$DEPLOY_OUTPUTS``, or ``deploy/cdk.out/outputs.json`` of this checkout."""
    named = os.environ.get("DEPLOY_OUTPUTS")
    return Path(named) if named else Path(__file__).parent / "cdk.out" / "outputs.json"


def load(path: Path | None = None) -> Outputs:
    """Read the file: one flat JSON object with ``EndpointName``, ``Region`` and ``AgentRuntimeArn``.

    Raises:
        OutputsError: it is absent, no JSON object, or a value is not a string.
    """
    path = path or default_path()
    try:
        values: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise OutputsError(
            f"{path} does not exist. 'speech-infra deploy' writes it; DEPLOY_OUTPUTS names another."
        ) from None
    except (OSError, ValueError) as error:
        raise OutputsError(f"{path} cannot be read: {error}. 'speech-infra status' writes it anew.") from error
    if not isinstance(values, dict):
        raise OutputsError(f"{path} holds no JSON object. 'speech-infra status' writes it anew.")
    found = {name: values.get(key) for name, key in _KEYS.items()}
    for name, value in found.items():
        if value is not None and (not isinstance(value, str) or not value):
            raise OutputsError(f"{path}: {_KEYS[name]} is {value!r}, a string or null is expected.")
    return Outputs(**found)


def update(found: Outputs, path: Path | None = None) -> Path | None:
    """Write down what was found in an account and region; returns the path, None where there is nothing to say.

    Where nothing is deployed, a file is written only to take back what an earlier one says of the same region.
    """
    path = path or default_path()
    if found.endpoint is None and found.agent_runtime_arn is None:
        try:
            if load(path).region not in (None, found.region):
                return None
        except OutputsError:
            if not path.exists():
                return None
    return save(found, path)


def save(outputs: Outputs, path: Path | None = None) -> Path:
    """Write the file, whole or not at all; returns its path."""
    path = path or default_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {key: getattr(outputs, name) for name, key in _KEYS.items()}
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
    draft.replace(path)
    return path
