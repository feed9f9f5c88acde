"""The report of a live run: verdicts, measurements, and what was seen of each fact. JSON, for programs."""

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from contract_tests.verdict import Verdict
from emulator.parity import SCHEMA
from live_tests.parity.ledger import Ledger, Outcome
from live_tests.parity.unseen import why
from live_tests.settings import Settings

__all__ = ["Findings", "document", "summary"]

_SDK = "aws-sdk-sagemaker-runtime-http2"


@dataclass
class Findings:
    """What a run gathers besides its verdicts."""

    ledger: Ledger = field(default_factory=Ledger)
    transcripts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By name of the probe, one for each session."""
    differences: list[str] | None = None
    """From the emulator's answers to the same input; None where nothing was compared."""
    measurements: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def document(settings: Settings, findings: Findings, verdicts: Sequence[Verdict], when: datetime.datetime) -> str:
    """Return the report as JSON, ready to write."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "against": "emulator" if settings.local else "aws",
        "date": when.astimezone(datetime.UTC).date().isoformat(),
        "time": when.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "region": settings.region,
        "endpoint": settings.endpoint,
        "sdk": f"{_SDK} {_version()}",
        "verdicts": {
            verdict.id: {"status": verdict.status, "observed": verdict.worst.observed} for verdict in verdicts
        },
        "facts": {
            fact_id: {"outcome": sighting.outcome, "seen": sighting.seen, "times": sighting.times}
            | ({"why": why(fact_id)} if sighting.outcome is Outcome.NOT_SEEN else {})
            for fact_id, sighting in findings.ledger.all().items()
        },
        "measurements": findings.measurements,
        "sessions": findings.transcripts,
        "differences": findings.differences,
        "notes": findings.notes,
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _version() -> str:
    try:
        return version(_SDK)
    except PackageNotFoundError:
        return "of unknown version"


def summary(settings: Settings, findings: Findings) -> list[str]:
    """Return the report in lines, for people: refuted facts and differences whole, the rest counted by reason."""
    by_outcome: Mapping[Outcome, int] = {outcome: len(findings.ledger.those(outcome)) for outcome in Outcome}
    counts = ", ".join(f"{number} {outcome}" for outcome, number in by_outcome.items())
    lines = [f"facts of the emulator's table: {counts}"]
    lines += [
        f"  refuted {fact_id}: {sighting.seen}" for fact_id, sighting in findings.ledger.those(Outcome.REFUTED).items()
    ]
    reasons = Counter(why(fact_id) for fact_id in findings.ledger.those(Outcome.NOT_SEEN))
    lines += [f"  not seen {number:>3}: {reason}" for reason, number in reasons.most_common()]
    if findings.differences is None:
        lines.append("answers were not compared with the emulator's: --twin TARGET names a container to compare with")
    else:
        lines.append(f"{len(findings.differences)} differences from the emulator's answers to the same input")
        lines += [f"  {line}" for line in findings.differences]
    lines += findings.notes
    if not settings.local:
        lines.append("`uv run emulator facts --import FILE` enters the confirmations into the table")
    return lines
