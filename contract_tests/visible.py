"""Text that came from outside, as it can be shown on a terminal."""

from emulator.wire.utf8 import writable

__all__ = ["visible"]

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != ord("\n")}


def visible(text: str) -> str:
    """Return the text with an escape for each control character but line ends: what is shown controls no terminal."""
    return writable(text).translate(_ESCAPES)
