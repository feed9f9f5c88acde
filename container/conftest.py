"""What the tests of both images need."""

import ast
import gc
import os
from collections.abc import Generator

import docker
import pytest
from docker.errors import DockerException

from emulator.tests.required import lacking

_KINDS = """
import pathlib
kinds = {}
for top in ("/app", "/opt"):
    for file in pathlib.Path(top).rglob("*.pyc"):
        kinds.setdefault(int.from_bytes(file.read_bytes()[4:8], "little"), str(file))
print(kinds)
"""
UNCHECKED_HASH = 1
"""What the header of bytecode says that is bound to its source by a hash (PEP 552), not by a time as 0 says."""


def kinds_of_bytecode(engine: docker.DockerClient, image: str) -> dict[int, str]:
    """Return the kinds of bytecode in an image, above its base: flags, and one file of each kind."""
    output = engine.containers.run(image, ["-c", _KINDS], entrypoint="python", network_mode="none", remove=True)
    found: dict[int, str] = ast.literal_eval(output.decode())
    return found


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
