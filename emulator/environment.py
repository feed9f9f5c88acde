"""The environment of this process, changed for a while: what the clients in it read."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["environment_of"]


@contextmanager
def environment_of(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and give them back their values (or none) at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
