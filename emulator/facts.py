"""The facts table: every AWS behaviour that the emulator reproduces, with its source and how sure we are of it.

The table itself is ``facts.toml`` beside this file. Code reads its constants from it, the contract suite quotes it.
"""

import difflib
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["Confidence", "Fact", "UnknownFactError", "get", "integer", "not_reproduced", "seconds", "table", "text"]


class Confidence(StrEnum):
    """How a fact is known."""

    DOCUMENTED = "documented"
    SDK = "sdk"
    REPORTED = "reported"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Fact:
    """One behaviour of the service.

    ``value`` is what code reads (a number, a string, a list) or None where the statement says it all.
    ``confirmed`` is the ISO date of the last confirmation on live AWS, None if there was none.
    """

    id: str
    statement: str
    confidence: Confidence
    source: str
    url: str
    value: object = None
    confirmed: str | None = None

    def __str__(self) -> str:
        return f"{self.statement} [{self.id}, {self.confidence}: {self.url}]"


class UnknownFactError(LookupError):
    """Raised when code asks for a fact that the table does not hold."""

    def __init__(self, fact_id: str, known: list[str]) -> None:
        self.fact_id = fact_id
        self.near = difflib.get_close_matches(fact_id, known, n=3)
        super().__init__(fact_id)

    def __str__(self) -> str:
        hint = f" Did you mean {' or '.join(self.near)}?" if self.near else ""
        return f"facts.toml has no entry {self.fact_id!r}.{hint}"


@cache
def table() -> dict[str, Fact]:
    """Return all facts by id, in the order of the file."""
    raw = _file()
    sources = raw["sources"]
    return {
        fact_id: Fact(
            id=fact_id,
            statement=entry["statement"],
            confidence=Confidence(entry["confidence"]),
            source=entry["source"],
            url=sources[entry["source"]],
            value=entry.get("value"),
            confirmed=entry.get("confirmed"),
        )
        for fact_id, entry in raw.items()
        if fact_id not in ("sources", "not-reproduced")
    }


def not_reproduced() -> dict[str, str]:
    """Return what the emulator does not reproduce, with the reason."""
    reasons: dict[str, str] = _file()["not-reproduced"]
    return dict(reasons)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(resources.files("emulator").joinpath("facts.toml").read_text("utf-8"))


def get(fact_id: str) -> Fact:
    """Return one fact.

    Raises:
        UnknownFactError: no such id.
    """
    try:
        return table()[fact_id]
    except KeyError:
        raise UnknownFactError(fact_id, list(table())) from None


def text(fact_id: str) -> str:
    """Return a fact's value as a string."""
    value = get(fact_id).value
    if not isinstance(value, str):
        raise TypeError(f"fact {fact_id} is {value!r}, not a string")
    return value


def integer(fact_id: str) -> int:
    """Return a fact's value as a whole number."""
    value = get(fact_id).value
    if not isinstance(value, int):
        raise TypeError(f"fact {fact_id} is {value!r}, not a whole number")
    return value


def seconds(fact_id: str) -> float:
    """Return a fact's value as a duration in seconds."""
    value = get(fact_id).value
    if not isinstance(value, float):
        raise TypeError(f"fact {fact_id} is {value!r}, not a duration in seconds")
    return value
