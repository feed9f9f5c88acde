"""Header fields as h11 wants them."""

from collections.abc import Iterable

__all__ = ["encoded"]


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return names and values as bytes; a value may hold any byte, as latin-1.

    Raises:
        UnicodeEncodeError: one cannot stand in a header.
    """
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
