"""What this machine lacks for a test: a reason to skip it, and a failure where nothing may be left out."""

import os
from typing import NoReturn

import pytest

__all__ = ["lacking", "required"]


def required() -> bool:
    """Tell whether nothing may be left out: ``.ci/run`` says so, which installs all that is needed."""
    return os.environ.get("CONTAINER_TESTS_REQUIRED") == "1"


def lacking(why: str) -> NoReturn:
    """Skip the test; with CONTAINER_TESTS_REQUIRED=1 it fails."""
    if required():
        pytest.fail(f"CONTAINER_TESTS_REQUIRED=1, but {why}")
    pytest.skip(why)
