from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def state_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate authority of the test run's own: making one costs time, and the user's must not be touched."""
    return tmp_path_factory.mktemp("state")
