"""One Python file as the rules look at it: its tree, who stands above whom, its imports, and what is to be ignored."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Function", "Source", "SourceError", "called", "dotted", "own_nodes"]

type Function = ast.FunctionDef | ast.AsyncFunctionDef

_IGNORE = re.compile(r"#\s*contract:\s*ignore(?:\[([\w\s,]*)\])?")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class SourceError(Exception):
    """Raised for a file that cannot be read as Python; says why."""


@dataclass
class Source:
    """A parsed file. ``imports``: local name to the dotted name that it stands for."""

    path: Path
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    ignored: dict[int, frozenset[str]] = field(default_factory=dict)
    """Line to the ids of the rules that are off there; an empty set means all of them."""

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Parse a file.

        Raises:
            SourceError: it cannot be read, or is no Python.
        """
        try:
            with tokenize.open(path) as file:
                text = file.read()
            return cls.parse(text, path)
        except SyntaxError as error:  # tokenize.open() raises it for an unknown encoding
            raise SourceError(f"is no Python 3.12: {error.msg} (line {error.lineno})") from None
        except (OSError, ValueError, RecursionError) as error:
            raise SourceError(f"cannot be read: {error}") from None

    @classmethod
    def parse(cls, text: str, path: Path) -> "Source":
        """Parse the text of a file."""
        source = cls(path, ast.parse(text))
        for above in ast.walk(source.tree):
            for below in ast.iter_child_nodes(above):
                source.parents[below] = above
        source.imports = dict(_imports(source.tree))
        source.ignored = dict(_ignored(text))
        return source

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what ``node`` stands in, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def functions(self) -> Iterator[Function]:
        """Yield all functions and methods."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def class_of(self, function: Function) -> ast.ClassDef | None:
        """Return the class whose method ``function`` is."""
        parent = self.parents.get(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def full_name(self, node: ast.expr) -> str:
        """Return the dotted name of something imported: ``sleep`` may be ``time.sleep``. Empty for what is not.

        A variable may have the name of a module that the file does not import (``requests.get()`` of a queue).
        """
        first, _, rest = dotted(node).partition(".")
        full = self.imports.get(first, "")
        return f"{full}.{rest}" if rest and full else full

    def is_ignored(self, rule_id: str, first: int, last: int) -> bool:
        """Tell whether a comment on one of the lines switches the rule off."""
        for line in range(first, last + 1):
            ids = self.ignored.get(line)
            if ids is not None and (not ids or rule_id in ids):
                return True
        return False


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` for such an expression, an empty text for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = dotted(node.value)
        return f"{value}.{node.attr}" if value else ""
    return ""


def called(node: ast.AST | None) -> str:
    """Return the last part of the name of what is called (``x.y.close()`` gives ``close``), empty for no call."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in ``node``, without what stands in functions and classes inside it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from own_nodes(child)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, alias.name
                else:
                    first = alias.name.split(".")[0]
                    yield first, first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _ignored(text: str) -> Iterator[tuple[int, frozenset[str]]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = _IGNORE.search(token.string) if token.type == tokenize.COMMENT else None
        if match:
            ids = (match[1] or "").replace(",", " ").split()
            yield token.start[0], frozenset(ids)
