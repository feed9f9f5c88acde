"""Text that came from outside, as it can be written to a file and shown on a terminal."""

__all__ = ["visible", "writable"]

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != ord("\n")}


def writable(text: str) -> str:
    """Return the text with an escape for each half of a surrogate pair: JSON can hold one alone, UTF-8 cannot."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(text: str) -> str:
    """Return the text with an escape for each control character but line ends: what is shown controls no terminal."""
    return writable(text).translate(_ESCAPES)
