"""The ledger: for every fact of the emulator's table, whether it was confirmed, refuted or not seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from emulator import facts

__all__ = ["Ledger", "Outcome", "Sighting"]

_LONGEST = 300


class Outcome(StrEnum):
    """What an observation says about a fact."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_SEEN = "not seen"


@dataclass(frozen=True, slots=True)
class Sighting:
    """The outcome for one fact, what was seen in words, and how often."""

    outcome: Outcome
    seen: str = ""
    times: int = 0


class Ledger:
    """Collects sightings. One that refutes outweighs any number that confirm; the first of a kind is kept."""

    def __init__(self) -> None:
        self._sightings: dict[str, Sighting] = {}

    def confirm(self, fact_id: str, seen: str) -> None:
        """Note that the fact holds, as far as this observation goes.

        Raises:
            UnknownFactError: no such id.
        """
        self._note(fact_id, Outcome.CONFIRMED, seen)

    def refute(self, fact_id: str, seen: str) -> None:
        """Note that the fact does not hold.

        Raises:
            UnknownFactError: no such id.
        """
        self._note(fact_id, Outcome.REFUTED, seen)

    def judge(self, fact_id: str, seen: str, *, holds: bool) -> None:
        """Note either."""
        self._note(fact_id, Outcome.CONFIRMED if holds else Outcome.REFUTED, seen)

    def _note(self, fact_id: str, outcome: Outcome, seen: str) -> None:
        facts.get(fact_id)
        before = self._sightings.get(fact_id)
        if before is None or (outcome is Outcome.REFUTED and before.outcome is Outcome.CONFIRMED):
            self._sightings[fact_id] = Sighting(outcome, seen[:_LONGEST], 1)
        elif before.outcome is outcome:
            self._sightings[fact_id] = Sighting(outcome, before.seen, before.times + 1)

    def all(self) -> Mapping[str, Sighting]:
        """Return the sighting of every fact of the table, in the table's order."""
        nothing = Sighting(Outcome.NOT_SEEN)
        return {fact_id: self._sightings.get(fact_id, nothing) for fact_id in facts.table()}

    def those(self, outcome: Outcome) -> Mapping[str, Sighting]:
        """Return the sightings with this outcome."""
        return {fact_id: sighting for fact_id, sighting in self.all().items() if sighting.outcome is outcome}
