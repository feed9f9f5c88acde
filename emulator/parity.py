"""The report of a live run, read back: which facts AWS itself has confirmed, and when."""

import datetime
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator import facts

__all__ = ["SCHEMA", "Imported", "ParityReport", "ReportError", "enter", "import_report"]

SCHEMA = "sagemaker-bidi-live/1"
"""Of the report that ``pytest -m live`` writes; new members may come without a new number."""
_OUTCOMES = ("confirmed", "refuted", "not seen")
_HEADING = re.compile(r'^\["(?P<id>[^"]+)"\]$', re.MULTILINE)
_CONFIRMED = re.compile(r'^confirmed = "[^"]*"\n', re.MULTILINE)


class ReportError(Exception):
    """Raised when a file is no report of a live run, or of one that says nothing about AWS."""


@dataclass(frozen=True, slots=True)
class ParityReport:
    """What a run against AWS saw: its date and region, and the outcome of each fact by id, with what was seen."""

    date: datetime.date
    region: str
    outcomes: Mapping[str, tuple[str, str]]

    @classmethod
    def load(cls, path: Path) -> "ParityReport":
        """Read and check a report.

        Raises:
            ReportError: it cannot be read, is no report, was made against an emulator, or names unknown facts.
        """
        try:
            body: Any = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ReportError(f"{path} cannot be read as JSON: {error}") from error
        if not isinstance(body, dict) or body.get("schema") != SCHEMA:
            found = body.get("schema") if isinstance(body, dict) else None
            raise ReportError(
                f"{path} is no report of a live run: its schema is {found!r}, expected is {SCHEMA!r}. "
                "`pytest -m live` writes one."
            )
        if body.get("against") != "aws":
            raise ReportError(
                f"{path} was made against {body.get('against')!r}: only a run against AWS itself confirms anything. "
                "Run `pytest -m live` without --endpoint-url."
            )
        return cls(_date(path, body), _region(path, body), _outcomes(path, body))


def _date(path: Path, body: Mapping[str, Any]) -> datetime.date:
    try:
        date = datetime.date.fromisoformat(str(body.get("date")))
    except ValueError:
        raise ReportError(f"{path}: date is {body.get('date')!r}, expected is YYYY-MM-DD") from None
    if date > datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1):
        raise ReportError(f"{path}: its date, {date}, lies in the future")
    return date


def _region(path: Path, body: Mapping[str, Any]) -> str:
    region = body.get("region")
    if not isinstance(region, str) or not region:
        raise ReportError(f"{path}: region is {region!r}, expected is a string")
    return region


def _outcomes(path: Path, body: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    entries = body.get("facts")
    if not isinstance(entries, dict) or not entries:
        raise ReportError(f"{path}: it holds no facts")
    outcomes = {}
    for fact_id, entry in entries.items():
        try:
            facts.get(fact_id)
        except facts.UnknownFactError as error:
            raise ReportError(f"{path}: {error} Was it written by another version?") from error
        if not isinstance(entry, dict):
            raise ReportError(f"{path}: {fact_id} is {entry!r}, expected is an object with 'outcome' and 'seen'")
        outcome = entry.get("outcome")
        if outcome not in _OUTCOMES:
            raise ReportError(f"{path}: {fact_id} is {outcome!r}, expected is one of {', '.join(_OUTCOMES)}")
        outcomes[fact_id] = (str(outcome), str(entry.get("seen", "")))
    return outcomes


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import changed: ids that got the date, and ids that were refuted, with what was seen."""

    dated: tuple[str, ...]
    refuted: Mapping[str, str]


def enter(report: ParityReport, table: Path) -> Imported:
    """Write the report's date beside each fact that it confirms; a later date that stands there already is kept.

    A refuted fact loses its date: what to say in its place is for a person to decide.

    Raises:
        ReportError: the table cannot be written.
    """
    try:
        text = table.read_text("utf-8")
    except OSError as error:
        raise ReportError(f"{table} cannot be read: {error.strerror}") from error
    dated, refuted = [], {}
    # from the last heading to the first: what is changed does not move what is still to be changed
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in reversed(list(zip(headings, ends, strict=True))):
        outcome, seen = report.outcomes.get(heading["id"], ("not seen", ""))
        entry = text[heading.end() : end]
        if outcome == "confirmed" and (changed := _confirmed(entry, report.date)) != entry:
            text = text[: heading.end()] + changed + text[end:]
            dated.append(heading["id"])
        elif outcome == "refuted":
            text = text[: heading.end()] + _CONFIRMED.sub("", entry) + text[end:]
            refuted[heading["id"]] = seen
    _replace(table, text)
    return Imported(tuple(reversed(dated)), dict(reversed(refuted.items())))


def _confirmed(entry: str, date: datetime.date) -> str:
    line = f'confirmed = "{date.isoformat()}"\n'
    before = _CONFIRMED.search(entry)
    if before is not None:
        return entry if before[0] >= line else _CONFIRMED.sub(line, entry)
    return re.sub(r'^(source = "[^"]*"\n)', rf"\g<1>{line}", entry, count=1, flags=re.MULTILINE)


def _replace(table: Path, text: str) -> None:
    draft = table.with_name(f"{table.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(table)
    except OSError as error:
        raise ReportError(f"{table} cannot be written: {error.strerror}") from error


def import_report(path: Path, table: Path | None = None) -> int:
    """Enter a report into the facts table (default: the one of this checkout) and say what has changed.

    Returns the exit status: 0, or 1 where a fact is refuted, or 2 where the file is no good.
    """
    try:
        report = ParityReport.load(path)
        changed = enter(report, table or Path(facts.__file__).with_name("facts.toml"))
    except ReportError as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    print(
        f"{len(changed.dated)} facts confirmed on {report.date} in {report.region}: {', '.join(changed.dated) or '-'}"
    )
    print("The page follows: uv run emulator facts --markdown > docs/fidelity.md")
    for fact_id, seen in changed.refuted.items():
        print(f"refuted, for you to look at: {fact_id}\n  {facts.get(fact_id).statement}\n  seen: {seen}")
    return 1 if changed.refuted else 0
