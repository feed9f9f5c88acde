"""What the linter finds: a rule, and the place where it is broken."""

from dataclasses import dataclass
from pathlib import Path

from contract_tests.verdict import Fix

__all__ = ["LintFinding", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One mistake that source code can show. ``check``: the contract check that fails on a container with it."""

    id: str
    name: str
    check: str
    why: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One place where a rule is broken; ``line`` and ``last_line`` count from 1, ``column`` too."""

    path: Path
    line: int
    last_line: int
    column: int
    rule: Rule
    text: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}:{self.column}: {self.rule.id} {self.rule.name}: {self.text} ({self.rule.check})"
        )
