"""Verdicts as JSON, for programs: one stable schema with a version."""

import json
from collections.abc import Sequence
from typing import Any

from contract_tests.verdict import Finding, Verdict
from emulator import facts

__all__ = ["SCHEMA", "to_json"]

SCHEMA = "sagemaker-bidi-contract/1"
"""Grows its number when a member is renamed, removed or changes its meaning; new members may come without."""


def to_json(verdicts: Sequence[Verdict], target: str, profile: str) -> str:
    """Return a JSON document: what was judged, and one object per check in the order of the catalogue."""
    document = {
        "schema": SCHEMA,
        "target": target,
        "profile": profile,
        "verdicts": [_verdict(verdict) for verdict in verdicts],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.id,
        "name": verdict.name,
        "level": verdict.level,
        "status": verdict.status,
        "seconds": round(verdict.seconds, 3),
        "stake": verdict.stake,
        "behaviour": _finding(verdict.behaviour),
        "closing": _finding(verdict.closing),
        "facts": [_fact(fact_id) for fact_id in verdict.facts],
        "wire_log": list(verdict.log),
        "container_output": list(verdict.output),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "status": finding.status,
        "sent": finding.sent,
        "expected": finding.expected,
        "observed": finding.observed,
        "causes": list(finding.causes),
        "fix": None if fix is None else {"text": fix.text, "before": fix.before, "after": fix.after},
    }


def _fact(fact_id: str) -> dict[str, str]:
    fact = facts.get(fact_id)
    return {"id": fact.id, "statement": fact.statement, "confidence": fact.confidence, "url": fact.url}
