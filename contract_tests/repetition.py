"""Runs of the same checks against the same container, compared: a verdict that differs is worth nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contract_tests.report import render
from contract_tests.verdict import Status, Verdict

__all__ = ["Difference", "conclusion", "differences", "judgement", "shown", "tally"]

_BAD = frozenset({Status.FAIL, Status.WARN})

type Judgement = tuple[Status, Status, str]
"""What has to be the same each time: behaviour, closing behaviour, and the first cause of a failure or a warning."""


def judgement(verdict: Verdict) -> Judgement:
    """Return the part of a verdict that people act on; times and texts differ from run to run."""
    cause = next(iter(verdict.worst.causes), "") if verdict.status in _BAD else ""
    return verdict.behaviour.status, verdict.closing.status, cause


def tally(verdicts: Sequence[Verdict]) -> str:
    """Return how often each status was given, as in ``20 PASS, 1 FAIL``."""
    counts = Counter(verdict.status for verdict in verdicts)
    return ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])


@dataclass(frozen=True, slots=True)
class Difference:
    """One check that was not judged alike: the numbers of the runs (from 1) and the first verdict, by judgement.

    The most frequent judgement comes first.
    """

    kinds: tuple[tuple[tuple[int, ...], Verdict], ...]

    def lines(self) -> Iterator[str]:
        """Yield what differed, and the whole text of each verdict but the most frequent one."""
        usual = self.kinds[0][1]
        yield f"{usual.id} {usual.name} ({usual.level})"
        for runs, verdict in self.kinds:
            times = f"{len(runs)} time{'s' if len(runs) > 1 else ''}"
            where = "" if runs == self.kinds[0][0] else f", in run {', '.join(map(str, runs))}"
            yield f"    {times}{where}: {shown(judgement(verdict))}"
        for _, verdict in self.kinds[1:]:
            yield ""
            yield from (f"    {line}".rstrip() for line in render(verdict).splitlines())


def shown(judged: Judgement) -> str:
    """Return a judgement in words."""
    behaviour, closing, cause = judged
    return f"behaviour {behaviour}, closing behaviour {closing}" + (f", because: {cause}" if cause else "")


def differences(runs: Sequence[Sequence[Verdict]]) -> list[Difference]:
    """Return the checks whose judgement was not the same in all runs; each run has the same checks, in order."""
    found = []
    for verdicts in zip(*runs, strict=True):
        kinds: dict[Judgement, list[int]] = {}
        for number, verdict in enumerate(verdicts, 1):
            kinds.setdefault(judgement(verdict), []).append(number)
        if len(kinds) > 1:
            ranked = sorted(kinds.values(), key=len, reverse=True)
            found.append(Difference(tuple((tuple(numbers), verdicts[numbers[0] - 1]) for numbers in ranked)))
    return found


def conclusion(runs: Sequence[Sequence[Verdict]]) -> Iterator[str]:
    """Yield what all runs together say; at least one run."""
    found = differences(runs)
    number = f"{_counted(len(runs), 'run')} of {_counted(len(runs[0]), 'check')}"
    if not found:
        yield f"{number}, no difference: {tally(runs[0])}"
    else:
        yield f"{number}, not all alike. A verdict that differs says that a check, or the container, is not steady:"
        for each in found:
            yield ""
            yield from each.lines()
        yield ""
    unsteady = {each.kinds[0][1].id for each in found}
    for verdict in runs[0]:
        if verdict.status is Status.FAIL and verdict.id not in unsteady:
            why = f"`contract check --only {verdict.id}` says why"
            yield f"The same each time: FAIL {verdict.id} {verdict.name}; {why}."


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
