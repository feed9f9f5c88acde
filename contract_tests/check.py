"""What a check is: a class of bug with a stable id, a level and a reason, and a way to find it."""

from abc import ABC, abstractmethod
from typing import ClassVar

from contract_tests.bench import Bench
from contract_tests.profile import Profile
from contract_tests.reach import Capability
from contract_tests.sound import Sound
from contract_tests.verdict import Finding, Level, Verdict

__all__ = ["Check", "Claim", "Outcome"]

type Outcome = tuple[Finding, Finding, tuple[str, ...]]
"""Behaviour, closing behaviour, wire log."""


class Claim(ABC):
    """What is said of a check, whatever it judges: a container or an agent.

    ``stake`` says what it costs to have the bug; ``facts`` are ids of the emulator's facts table.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    level: ClassVar[Level] = Level.MUST
    stake: ClassVar[str]
    facts: ClassVar[tuple[str, ...]] = ()

    def verdict(self, outcome: Outcome, *, output: tuple[str, ...], sound: Sound | None, seconds: float) -> Verdict:
        """Return what was found as the verdict of this check, not yet graded; the rest is as in :class:`Verdict`."""
        behaviour, closing, log = outcome
        return Verdict(
            id=self.id,
            name=self.name,
            level=self.level,
            stake=self.stake,
            facts=self.facts,
            behaviour=behaviour,
            closing=closing,
            log=log,
            output=output,
            sound=sound,
            seconds=seconds,
        )


class Check(Claim):
    """One class of bug in a container. Subclasses stand in ``contract_tests/checks/``, one file each."""

    needs_good_request: ClassVar[bool] = True
    """Whether the check can say nothing about a container that does not answer a good request."""
    needs: ClassVar[tuple[Capability, ...]] = ()
    """What the target has to offer; without it the check is not applicable."""

    def applies(self, profile: Profile) -> str | None:  # noqa: ARG002 - most checks apply to all profiles
        """Return why the check does not apply to this profile, None if it does."""
        return None

    @abstractmethod
    async def run(self, bench: Bench) -> Outcome:
        """Drive the container and return what was found. Every wait in it is bounded."""
