"""Known vulnerabilities of pinned packages, from OSV. What could not be checked counts as a failure."""

import json
import os
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import Any
from urllib.request import Request, urlopen

from deploy.errors import DeployError
from deploy.pins import Pin

__all__ = ["known"]

_URL = "https://api.osv.dev/v1/querybatch"
"""Of OSV; ``$DEPLOY_OSV`` names a mirror of it."""
_CANARY = Pin("torch", "2.5.0")
"""Has advisories for certain: a service that knows none of it knows nothing, and its silence is no good news."""
_BATCH = 500
_LARGEST = 50_000_000
_MOST_PAGES = 100

Ask = Callable[[dict[str, Any]], Any]


def known(pins: Sequence[Pin], ask: Ask | None = None) -> dict[str, list[str]]:
    """Return the advisories of each package that has some: ``name version`` to their ids.

    ``ask`` sends one query to OSV and returns its answer.

    Raises:
        DeployError: not all of them could be checked.
    """
    ask = ask or _ask
    found: dict[str, set[str]] = {}
    # a page of an answer may be empty and still have a next one
    waiting = [(pin, "") for pin in (_CANARY, *pins)]
    for _ in range(_MOST_PAGES):
        batch, waiting = waiting[:_BATCH], waiting[_BATCH:]
        for (pin, _page), result in zip(batch, _answered(batch, ask), strict=True):
            ids, following = _read(result)
            found.setdefault(_named(pin), set()).update(ids)
            if following:
                waiting.append((pin, following))
        if not waiting:
            break
    else:
        raise _unchecked(f"the answer has not ended after {_MOST_PAGES} pages")
    if not found[_named(_CANARY)]:
        raise _unchecked(
            f"the service knows nothing of {_named(_CANARY)}, which has some. Is there a proxy or a mirror in between?"
        )
    asked = {_named(pin) for pin in pins}
    return {name: sorted(ids) for name, ids in found.items() if ids and name in asked}


def _answered(batch: Sequence[tuple[Pin, str]], ask: Ask) -> list[Any]:
    queries = [
        {"package": {"name": pin.name, "ecosystem": "PyPI"}, "version": pin.version}
        | ({"page_token": page} if page else {})
        for pin, page in batch
    ]
    try:
        answer = ask({"queries": queries})
        results: list[Any] = answer["results"]
        if len(results) != len(batch):
            raise ValueError(f"{len(results)} answers to {len(batch)} questions")
    except (OSError, ValueError, KeyError, TypeError, HTTPException) as error:
        raise _unchecked(f"{type(error).__name__}: {error}. Try again where {_url()} can be reached.") from None
    return results


def _read(result: Any) -> tuple[list[str], str]:
    """Return the ids in one result, and the token of its next page, "" where there is none."""
    try:
        found = result or {}
        return [str(vulnerability["id"]) for vulnerability in found.get("vulns") or []], found.get(
            "next_page_token"
        ) or ""
    except (AttributeError, KeyError, TypeError) as error:
        raise _unchecked(f"an answer of another form ({type(error).__name__}: {error}): {str(result)[:80]}") from None


def _unchecked(why: str) -> DeployError:
    return DeployError(f"The advisories could NOT be checked, and that is no clean bill: {why}")


def _named(pin: Pin) -> str:
    return f"{pin.name} {pin.version}"


def _url() -> str:
    return os.environ.get("DEPLOY_OSV") or _URL


def _ask(query: dict[str, Any]) -> Any:
    url = _url()
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"DEPLOY_OSV={url}: expected https://HOST/v1/querybatch")
    request = Request(url, json.dumps(query).encode(), {"Content-Type": "application/json"})  # noqa: S310  # checked
    with urlopen(request, timeout=60) as response:  # noqa: S310
        return json.loads(response.read(_LARGEST))
