"""The body of an answer of boto3's ``invoke_agent_runtime``."""

from collections.abc import Iterator
from typing import Any

__all__ = ["blocks"]

_MOST = 65_536


def blocks(body: Any) -> Iterator[bytes]:
    """Yield the bytes of a ``StreamingBody`` as they come.

    Its own ``read(n)`` and iterators wait for n bytes, so that early events would seem late.
    """
    yield from body._raw_stream.stream(_MOST)  # noqa: SLF001 - boto3 offers nothing that does not wait
