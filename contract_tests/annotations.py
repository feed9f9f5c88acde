"""Annotations in the form that GitHub's runner reads from a log: they appear beside the code of a pull request."""

import os
from typing import Literal

from contract_tests.visible import visible

__all__ = ["annotation", "wanted"]


def wanted(*, asked: bool) -> bool:
    """Tell whether to print annotations: because they were asked for, or because this is a run of GitHub Actions."""
    return asked or os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(
    kind: Literal["error", "warning", "notice"], title: str, text: str, path: str = "", line: int | None = None
) -> str:
    """Return one annotation as a line for standard output."""
    fields = [("file", path), ("line", "" if line is None else str(line)), ("title", title)]
    shown = ",".join(f"{name}={_property(value)}" for name, value in fields if value)
    return f"::{kind} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
