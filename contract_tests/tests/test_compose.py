"""The compose file: valid, and its services' commands run against a real container."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.tests.github_actions import read
from contract_tests.tests.test_run import ROOT
from emulator.launch import launched
from emulator.target import Target

COMPOSE = ROOT / "docs" / "ci" / "compose.yaml"
ALIAS = "runtime.sagemaker.us-west-2.amazonaws.com"
Service = dict[str, Any]


@pytest.fixture(scope="module")
def services() -> dict[str, Service]:
    found: dict[str, Service] = read(COMPOSE)["services"]
    return found


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """The address of what stands in for the service "container"."""
    with launched(Target("app", "contract_tests.good.starlette_speech:app"), 60, ROOT) as url:
        yield url


def filled_in(text: str, variables: dict[str, str]) -> str:
    """Return the text with `${NAME:-default}` replaced, as compose does."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: variables.get(match[1]) or match[2], text)


def words(service: Service, replaced: dict[str, str]) -> list[str]:
    """Return the command of a service for this machine."""
    found = [filled_in(word, {"PROFILE": "kokoro"}) for word in service["command"]]
    for old, new in replaced.items():
        found = [word.replace(old, new) for word in found]
    program = Path(sys.prefix) / "bin" / found[0]
    assert program.is_file(), f"{found[0]} is no command of this project"
    return [str(program), *found[1:]]


def test_the_file_keeps_to_the_schema_of_compose() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_compose_itself_reads_the_file() -> None:
    program = next((each for each in (["docker", "compose"], ["docker-compose"]) if _answers([*each, "version"])), None)
    if program is None:
        pytest.skip("neither `docker compose` nor docker-compose is installed")
    command = [*program, "-f", str(COMPOSE), "config", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _answers(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def test_the_image_is_built_from_what_the_context_holds(services: dict[str, Service]) -> None:
    build = services["contract"]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert context == ROOT
    dockerfile = context / build["dockerfile"]
    assert dockerfile.is_file()
    ignored = dockerfile.with_name("Dockerfile.dockerignore").read_text("utf-8")
    kept = set(re.findall(r"^!(\S+)$", ignored, re.MULTILINE))
    assert all((context / each).exists() for each in kept)
    packages = re.search(r"^packages = \[(.*)\]$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert packages is not None
    assert set(re.findall(r'"(\w+)"', packages[1])) <= kept
    assert {"pyproject.toml", "README.md", "LICENSE", "requirements/dev.txt"} <= kept


def test_the_suite_judges_the_container(services: dict[str, Service], container: str, tmp_path: Path) -> None:
    command = words(services["contract"], {"http://container:8080": container})
    done = subprocess.run(
        [*command, "--only=CT0", "--only=CT1", "--only=CT18"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    verdicts = json.loads((tmp_path / "contract.json").read_text("utf-8"))["verdicts"]
    assert [(each["id"], each["status"]) for each in verdicts] == [("CT0", "PASS"), ("CT1", "PASS"), ("CT18", "N/A")]
    assert {each.name for each in tmp_path.iterdir()} == {"contract.json", "contract.html", "contract.xml"}


def test_a_client_reaches_the_container_through_the_emulator(
    services: dict[str, Service], container: str, tmp_path: Path
) -> None:
    served, client = services["emulator"], services["client"]
    assert ALIAS in served["networks"]["default"]["aliases"]
    port = str(free_port())
    here = {"http://container:8080": container, "--host=0.0.0.0": "--host=127.0.0.1", "8443": port}
    here |= {"/state": str(tmp_path)}
    command = words(served, here)
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as emulator:
        try:
            check = [word.replace("8443", port) for word in served["healthcheck"]["test"]]
            assert check.pop(0) == "CMD"
            deadline = time.monotonic() + 60
            while subprocess.run([sys.executable, *check[1:]], capture_output=True, check=False).returncode:
                assert emulator.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)  # compose has an interval here, too
            names = {name: value.replace(ALIAS, "localhost") for name, value in client["environment"].items()}
            names = {
                name: value.replace("8443", port).replace("/state", str(tmp_path)) for name, value in names.items()
            }
            assert client["command"] == ["python", "client.py"]
            done = subprocess.run(
                [sys.executable, str(COMPOSE.with_name("client.py"))],
                cwd=tmp_path,
                env={"PATH": os.environ["PATH"], **names},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
                check=False,
            )
        finally:
            emulator.terminate()
            assert emulator.wait(30) == 0
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith('UTF8 b\'{"type": "synthesis_start"'), done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
