"""Running the rules over files and folders."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from contract_tests.lint.blocking import blocking
from contract_tests.lint.finding import LintFinding
from contract_tests.lint.frame_kinds import frame_kinds
from contract_tests.lint.loops import loops
from contract_tests.lint.sockets import handlers
from contract_tests.lint.source import Source, SourceError

__all__ = ["LintResult", "NoSuchPathError", "lint", "lint_source"]

_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "build", "dist"})


class NoSuchPathError(Exception):
    """Raised for a path that is not there, or that is no Python file."""


@dataclass(frozen=True, slots=True)
class LintResult:
    """Findings in the order of files and lines, the number of files, and what could not be read."""

    findings: tuple[LintFinding, ...]
    files: int
    unread: tuple[tuple[Path, str], ...]


def lint(paths: Iterable[Path]) -> LintResult:
    """Look at all Python files under the paths.

    Raises:
        NoSuchPathError: a path is not there, or is a file of another kind.
    """
    findings: list[LintFinding] = []
    unread: list[tuple[Path, str]] = []
    files = sorted({each for path in paths for each in _files(path)})
    for file in files:
        try:
            findings += lint_source(Source.read(file))
        except SourceError as error:
            unread.append((file, str(error)))
    return LintResult(tuple(findings), len(files), tuple(unread))


def lint_source(source: Source) -> list[LintFinding]:
    """Return what the rules find in one file, in the order of its lines."""
    found = handlers(source)
    raw = [*frame_kinds(source, found), *loops(source, found), *blocking(source)]
    findings = {}
    for node, text, rule in raw:
        first = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", first)
        if not source.is_ignored(rule.id, first, last):
            place = (first, getattr(node, "col_offset", 0), rule.id)
            findings[place] = LintFinding(source.path, first, last, place[1] + 1, rule, text)
    return [findings[place] for place in sorted(findings)]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.suffix != ".py":
            raise NoSuchPathError(f"{path}: is no Python file (.py); the linter reads Python only")
        yield path
        return
    if not path.is_dir():
        raise NoSuchPathError(f"{path}: there is no such file or directory")
    for folder, folders, names in os.walk(path):
        here = Path(folder)
        folders[:] = [
            each
            for each in folders
            if each not in _SKIPPED and not each.startswith(".") and not (here / each / "pyvenv.cfg").exists()
        ]
        yield from (here / name for name in names if name.endswith(".py"))
