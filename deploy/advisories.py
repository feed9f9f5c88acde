"""Known vulnerabilities of pinned packages, from OSV. What could not be checked counts as a failure."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.request import Request, urlopen

from deploy.errors import DeployError
from deploy.pins import Pin

__all__ = ["known"]

_URL = "https://api.osv.dev/v1/querybatch"
_CANARY = Pin("torch", "2.5.0")
"""Has advisories for certain: a service that knows none of it knows nothing, and its silence is no good news."""
_BATCH = 500
_LARGEST = 50_000_000

Ask = Callable[[dict[str, Any]], Any]


def known(pins: Sequence[Pin], ask: Ask | None = None) -> dict[str, list[str]]:
    """Return the advisories of each package that has some: ``name version`` to their ids.

    ``ask`` sends one query to OSV and returns its answer.

    Raises:
        DeployError: not all of them could be checked.
    """
    ask = ask or _ask
    found: dict[str, list[str]] = {}
    asked = [_CANARY, *pins]
    for begin in range(0, len(asked), _BATCH):
        batch = asked[begin : begin + _BATCH]
        found |= _results(batch, _answered(batch, ask))
    canary = found.pop(_named(_CANARY), None)
    if canary is None:
        raise DeployError(
            f"The advisories could NOT be checked: the service knows nothing of {_named(_CANARY)}, which has some. "
            "Is there a proxy or a mirror in between?"
        )
    if any(_named(pin) == _named(_CANARY) for pin in pins):
        found[_named(_CANARY)] = canary
    return found


def _answered(batch: Sequence[Pin], ask: Ask) -> list[Any]:
    queries = [{"package": {"name": pin.name, "ecosystem": "PyPI"}, "version": pin.version} for pin in batch]
    try:
        answer = ask({"queries": queries})
        results: list[Any] = answer["results"]
        if len(results) != len(batch):
            raise ValueError(f"{len(results)} answers to {len(batch)} questions")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DeployError(
            f"The advisories could NOT be checked: {type(error).__name__}: {error}. That is no clean bill: try again "
            f"where {_URL} can be reached."
        ) from None
    return results


def _results(batch: Sequence[Pin], results: list[Any]) -> dict[str, list[str]]:
    found = {}
    for pin, result in zip(batch, results, strict=True):
        ids = sorted(vulnerability["id"] for vulnerability in (result or {}).get("vulns", []))
        if ids:
            found[_named(pin)] = ids
    return found


def _named(pin: Pin) -> str:
    return f"{pin.name} {pin.version}"


def _ask(query: dict[str, Any]) -> Any:
    request = Request(_URL, json.dumps(query).encode(), {"Content-Type": "application/json"})  # https
    with urlopen(request, timeout=60) as response:  # noqa: S310
        return json.loads(response.read(_LARGEST))
