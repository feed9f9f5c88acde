"""What a matrix is made of: everything that is judged a row, every check a column."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from contract_tests.check import Claim
from contract_tests.report import render
from contract_tests.verdict import Status, Verdict

__all__ = ["CELLS", "Proof", "problems", "table"]

CELLS = {Status.PASS: ".", Status.WARN: "warn", Status.FAIL: "FAIL", Status.NOT_APPLICABLE: "-"}


class Proof(Protocol):
    """A container or an agent that a check is proven by."""

    @property
    def name(self) -> str:
        """As printed."""

    @property
    def caught_by(self) -> str | None:
        """Id of the check whose fault it has, None for a good one."""

    @property
    def stands_for(self) -> str:
        """The mistake, in one line."""

    @property
    def cause(self) -> str:
        """What the first cause that its check names has to say."""


def problems(proof: Proof, failures: Mapping[str, Verdict]) -> Iterator[str]:
    """Yield one text for each thing that is not as registered; ``failures`` are those that count, by their checks."""
    if proof.caught_by is not None and proof.caught_by not in failures:
        yield f"{proof.name}: {proof.caught_by} does not catch it ({proof.stands_for})"
    for check_id, verdict in failures.items():
        if check_id != proof.caught_by:
            yield f"{proof.name}: {check_id} fails too\n{render(verdict)}"
        elif proof.cause not in " ".join(verdict.worst.causes[:1]):
            yield f"{proof.name}: not the right cause first: {verdict.worst.causes}\n{render(verdict)}"


def table(rows: Sequence[tuple[Proof, Sequence[Verdict]]], checks: Sequence[Claim]) -> Iterator[str]:
    """Yield a line for the ids of the checks, then one for each row; a check that was not made leaves a blank."""
    width = max(len(proof.name) for proof, _ in rows)
    yield f"{'':{width}}  " + " ".join(f"{check.id:>5}" for check in checks)
    for proof, verdicts in rows:
        cells = {verdict.id: CELLS[verdict.status] for verdict in verdicts}
        yield f"{proof.name:{width}}  " + " ".join(f"{cells.get(check.id, ''):>5}" for check in checks)
