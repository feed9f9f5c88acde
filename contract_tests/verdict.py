"""Verdicts: what a check found, behaviour and closing behaviour apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from contract_tests.sound import Sound
from contract_tests.stack import Stack
from emulator.wire.utf8 import writable

__all__ = ["Finding", "Fix", "Level", "Snippet", "Status", "Verdict", "failed", "not_applicable", "passed", "warned"]


class Level(StrEnum):
    """How binding a check is: MUST fails the run, SHOULD warns."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Status(StrEnum):
    """The result of a check, or of one side of it."""

    PASS = "PASS"  # noqa: S105 - a status, not a password
    WARN = "WARN"
    FAIL = "FAIL"
    NOT_APPLICABLE = "N/A"


_SEVERITY = [Status.NOT_APPLICABLE, Status.PASS, Status.WARN, Status.FAIL]


@dataclass(frozen=True, slots=True)
class Snippet:
    """The few lines of a fix as they look on one stack."""

    stack: Stack
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do, with a few lines of code before and after where that helps.

    These lines are for Starlette and FastAPI, or for any stack; ``elsewhere`` has those that look different.
    """

    text: str
    before: str = ""
    after: str = ""
    elsewhere: tuple[Snippet, ...] = ()

    def __post_init__(self) -> None:
        """Keep what can be written: the text may quote a container."""
        object.__setattr__(self, "text", writable(self.text))

    def on(self, stack: Stack | None) -> "Fix":
        """Return the fix with the lines for ``stack`` in place of the usual ones, where it has such."""
        for snippet in self.elsewhere:
            if snippet.stack is stack:
                return replace(self, before=snippet.before, after=snippet.after)
        return self


@dataclass(frozen=True, slots=True)
class Finding:
    """One side of a verdict. ``causes`` are ranked, the most probable first."""

    status: Status
    observed: str
    sent: str = ""
    expected: str = ""
    causes: tuple[str, ...] = ()
    fix: Fix | None = None

    def __post_init__(self) -> None:
        """Keep what can be written: here the words of a container become those of a report."""
        for name in ("observed", "sent", "expected"):
            object.__setattr__(self, name, writable(getattr(self, name)))
        object.__setattr__(self, "causes", tuple(map(writable, self.causes)))


def passed(observed: str) -> Finding:
    """Return a finding that is as it should be."""
    return Finding(Status.PASS, observed)


def not_applicable(reason: str) -> Finding:
    """Return a finding for something that could not be judged, and why."""
    return Finding(Status.NOT_APPLICABLE, reason)


def failed(*, sent: str, expected: str, observed: str, causes: Sequence[str] = (), fix: Fix | None = None) -> Finding:
    """Return a violation of something that must hold."""
    return Finding(Status.FAIL, observed, sent, expected, tuple(causes), fix)


def warned(*, sent: str, expected: str, observed: str, causes: Sequence[str] = (), fix: Fix | None = None) -> Finding:
    """Return a violation of something that should hold."""
    return Finding(Status.WARN, observed, sent, expected, tuple(causes), fix)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found. ``facts``: ids of the facts table; ``log``: the wire log; ``seconds``: the time it took.

    ``output``: what the container itself wrote meanwhile, where it was started by the run and the check failed.
    ``sound``: audio that came meanwhile, where the profile says what audio is.
    """

    id: str
    name: str
    level: Level
    stake: str
    facts: tuple[str, ...]
    behaviour: Finding
    closing: Finding
    log: tuple[str, ...] = field(default=(), repr=False)
    output: tuple[str, ...] = field(default=(), repr=False)
    sound: Sound | None = field(default=None, repr=False)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Keep what can be written, as in a finding."""
        for name in ("log", "output"):
            object.__setattr__(self, name, tuple(map(writable, getattr(self, name))))

    @property
    def status(self) -> Status:
        """The worse of both sides."""
        return max(self.behaviour.status, self.closing.status, key=_SEVERITY.index)

    @property
    def worst(self) -> Finding:
        """The finding that decides the status; behaviour goes first."""
        return self.behaviour if self.behaviour.status == self.status else self.closing

    def graded(self, strict: bool) -> "Verdict":
        """Return the verdict as the run counts it: a SHOULD check warns, and with ``strict`` every warning fails."""

        def grade(finding: Finding) -> Finding:
            if strict and finding.status is Status.WARN:
                return replace(finding, status=Status.FAIL)
            if not strict and self.level is Level.SHOULD and finding.status is Status.FAIL:
                return replace(finding, status=Status.WARN)
            return finding

        return replace(self, behaviour=grade(self.behaviour), closing=grade(self.closing))
