"""Values written as TOML, on one line each: Python reads that format, and has nothing that writes it."""

import json
import math
from collections.abc import Iterable

__all__ = ["toml_key", "toml_text", "toml_texts", "toml_value"]


def toml_text(text: str) -> str:
    """Return a string: as it is in single quotes where that can be, else escaped."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return _dumped(text)


def toml_texts(texts: Iterable[str]) -> str:
    """Return a list of strings."""
    return f"[{', '.join(map(toml_text, texts))}]"


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them."""
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _dumped(key)


def toml_value(value: object) -> str:
    """Return what JSON can hold as a value of TOML, objects as inline tables.

    Raises:
        ValueError: it holds ``null``, for which TOML has no word.
    """
    if isinstance(value, dict):
        members = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if value is None:
        raise ValueError("null cannot be written in a profile")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _dumped(value)


def _dumped(value: object) -> str:
    # JSON escapes all that TOML wants escaped, but DEL
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
