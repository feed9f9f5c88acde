"""What the tests of both images need."""

import gc
import os
from collections.abc import Generator

import docker
import pytest
from docker.errors import DockerException

from emulator.tests.required import lacking


def _connect() -> tuple[docker.DockerClient | None, str]:
    try:
        client = docker.from_env(timeout=600)
        client.ping()
    except (DockerException, OSError) as error:
        return None, os.environ.get("NO_ENGINE") or f"no container engine answers: {error}"
    return client, ""


@pytest.fixture(scope="module")
def engine() -> Generator[docker.DockerClient]:
    """Connect to the engine, or skip with the reason; CONTAINER_TESTS_REQUIRED=1 makes it a failure."""
    client, reason = _connect()
    if client is None:
        gc.collect()  # docker's half-open socket must go while its ResourceWarning is ignored
        lacking(reason)
    yield client
    client.close()
