"""Failures that are known and expected, in a file: they do not fail a run, and an entry whose check passes does.

One check a line, its id and, behind a ``#``, the reason. A run judges the entries of the checks that it made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from contract_tests.verdict import Finding, Status, Verdict

__all__ = ["BaselineError", "expected", "read_baseline"]


class BaselineError(Exception):
    """Raised for a file that is no baseline; says which line, and what is wrong with it."""


def read_baseline(path: Path, known: Iterable[str]) -> dict[str, str]:
    """Return the expected failures: id to reason.

    Raises:
        BaselineError: it cannot be read, names a check that there is not, or one twice.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"{path}: cannot be read ({error})") from None
    ids = set(known)
    entries: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        check_id, _, reason = (part.strip() for part in line.partition("#"))
        if not check_id:
            continue
        if check_id not in ids:
            raise BaselineError(f"{path}:{number}: there is no check {check_id!r}; one id a line, see --list-checks")
        if check_id in entries:
            raise BaselineError(f"{path}:{number}: {check_id} stands there twice")
        entries[check_id] = reason
    return entries


def expected(verdict: Verdict, entries: Mapping[str, str]) -> Verdict:
    """Return the verdict, not yet graded, as it counts with a baseline: what is expected warns, a stale entry fails.

    An entry is stale where nothing is wrong any more: what only warns fails other runs, graded by another level.
    """
    if verdict.id not in entries or verdict.status is Status.NOT_APPLICABLE:
        return verdict
    reason = entries[verdict.id] or "no reason is given"
    if verdict.status is Status.PASS:
        stale = Finding(
            Status.FAIL,
            f"it does not fail any more: {verdict.worst.observed}",
            expected=f"the failure that the baseline names ({reason})",
            causes=("It has been mended, and the baseline still has it.",),
        )
        return replace(verdict, behaviour=stale)

    def known(finding: Finding) -> Finding:
        if finding.status not in {Status.FAIL, Status.WARN}:
            return finding
        return replace(finding, status=Status.WARN, observed=f"expected ({reason}): {finding.observed}")

    return replace(verdict, behaviour=known(verdict.behaviour), closing=known(verdict.closing))
