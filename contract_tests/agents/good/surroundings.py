"""Where the stand-in finds its services: in the environment; in the context, where a process serves several of them."""

import os
from collections.abc import Mapping
from contextvars import ContextVar

__all__ = ["SURROUNDINGS", "setting"]

SURROUNDINGS: ContextVar[Mapping[str, str]] = ContextVar("SURROUNDINGS", default=os.environ)


def setting(name: str) -> str:
    """Return the value of a variable."""
    return SURROUNDINGS.get()[name]
