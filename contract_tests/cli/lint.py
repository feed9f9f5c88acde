"""``contract lint``: the linter over files and folders."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from contract_tests.annotations import annotation, wanted
from contract_tests.exit_status import ExitStatus
from contract_tests.lint.finding import LintFinding
from contract_tests.lint.linter import LintResult, NoSuchPathError, lint
from contract_tests.lint.rules import RULES

__all__ = ["add_to"]

_SCHEMA = "sagemaker-bidi-lint/1"


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("lint", help="look for known mistakes in the Python source of a container")
    parser.set_defaults(run=_run)
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="files and folders")
    parser.add_argument("--format", choices=("text", "short", "json"), default="text", help="(default: %(default)s)")
    parser.add_argument("--select", metavar="ID", action="append", default=[], help="this rule only; may be repeated")
    parser.add_argument("--annotations", action="store_true", help="print GitHub annotations")


def _run(options: argparse.Namespace) -> int:
    chosen = {each.upper() for each in options.select}
    known = {rule.id for rule in RULES}
    if not chosen <= known:
        wrong = ", ".join(sorted(chosen - known))
        print(f"contract lint: --select: no rule {wrong}; known: {', '.join(sorted(known))}", file=sys.stderr)
        return ExitStatus.USAGE
    try:
        result = lint(options.paths)
    except NoSuchPathError as error:
        print(f"contract lint: {error}", file=sys.stderr)
        return ExitStatus.NOTHING_TO_JUDGE
    findings = [each for each in result.findings if not chosen or each.rule.id in chosen]
    for path, why in result.unread:
        print(f"contract lint: {path} {why}; it was left out", file=sys.stderr)
    if options.format == "json":
        unread = [{"path": str(path), "why": why} for path, why in result.unread]
        document = {"schema": _SCHEMA, "findings": [_document(each) for each in findings], "unread": unread}
        print(json.dumps(document, indent=2))
    else:
        _text(result, findings, short=options.format == "short")
    if wanted(asked=options.annotations):
        for each in findings:
            print(annotation("warning", f"{each.rule.id} {each.rule.name}", each.text, str(each.path), each.line))
    if findings:
        return ExitStatus.FOUND
    return ExitStatus.NOTHING_TO_JUDGE if result.unread else ExitStatus.GOOD


def _text(result: LintResult, findings: list[LintFinding], *, short: bool) -> None:
    for each in findings:
        print(each)
        if short:
            continue
        print(f"    why: {each.rule.why}")
        print(f"    fix: {each.rule.fix.text}")
        for mark, code in (("-", each.rule.fix.before), ("+", each.rule.fix.after)):
            for line in code.splitlines():
                print(f"      {mark} {line}")
        print()
    number = len(findings)
    read = result.files - len(result.unread)
    left_out = f", {len(result.unread)} left out" if result.unread else ""
    print(f"{number or 'no'} finding{'s' if number != 1 else ''} in {read} file{'s' if read != 1 else ''}{left_out}")


def _document(each: LintFinding) -> dict[str, object]:
    return {
        "path": str(each.path),
        "line": each.line,
        "column": each.column,
        "id": each.rule.id,
        "name": each.rule.name,
        "check": each.rule.check,
        "text": each.text,
        "why": each.rule.why,
        "fix": {"text": each.rule.fix.text, "before": each.rule.fix.before, "after": each.rule.fix.after},
    }
