"""The image: its steps and pins, and, where an engine is, the image for this machine's processor."""

import os
import re
import shlex
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import docker
import httpx
import pytest

from container.agent.tests.serving import frames
from container.conftest import UNCHECKED_HASH, kinds_of_bytecode

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def steps() -> list[tuple[str, str]]:
    """Return instruction and argument of each step."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (HERE / "Dockerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    return [(line.split(maxsplit=1)[0], " ".join(line.split()[1:])) for line in lines]


def last_stage() -> list[tuple[str, str]]:
    """Return the steps of the image itself."""
    every = steps()
    start = max(at for at, (instruction, _) in enumerate(every) if instruction == "FROM")
    return every[start:]


def requirements(file: str = "requirements.txt") -> dict[str, str]:
    """Return the pinned packages: name to its whole entry."""
    text = (HERE / file).read_text(encoding="utf-8")
    entries = re.split(r"(?m)^(?=[a-z])", re.sub(r"(?m)^\s*#.*\n", "", text))
    return {entry.split("==")[0]: entry for entry in entries if entry.strip()}


def test_it_is_for_arm64_and_its_last_stage_runs_nothing() -> None:
    assert ("ARG", "PLATFORM=linux/arm64") in steps()
    assert ("ARG", "MACHINE=aarch64") in steps()
    first, last = [argument for instruction, argument in steps() if instruction == "FROM"]
    assert (first, last) == ("${BASE} AS build", "--platform=${PLATFORM} ${BASE}")
    # so that a machine of another kind can build it
    assert "RUN" not in [instruction for instruction, _ in last_stage()]


def test_it_runs_as_a_user_without_rights_and_listens_for_all() -> None:
    stage = last_stage()
    assert [argument for instruction, argument in stage if instruction == "USER"] == ["1000:1000"]
    environment = dict(pair.split("=", 1) for step in stage if step[0] == "ENV" for pair in shlex.split(step[1]))
    assert environment["DOCKER_CONTAINER"] == "1"
    assert ("EXPOSE", "8080") in stage


def test_it_starts_the_server_so_that_sigterm_reaches_it() -> None:
    stage = last_stage()
    assert ("ENTRYPOINT", '["python", "-m", "container.agent"]') in stage
    assert ("CMD", '["serve"]') in stage
    assert (HERE / "__main__.py").exists()


def test_all_that_it_copies_is_there_and_in_the_build_context() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "!container" in ignored
    sources = [
        source
        for instruction, argument in steps()
        if instruction == "COPY" and not argument.startswith("--from")
        for source in argument.split()[:-1]
    ]
    pins = ["container/agent/requirements.txt", "container/agent/requirements-mp3.txt"]
    assert sources == [*pins, "container/__init__.py", "container/sbom.py", "container/__init__.py", "container/agent"]
    assert all((ROOT / source).exists() for source in sources)


def test_the_agent_imports_nothing_that_the_image_lacks() -> None:
    modules = [path for path in HERE.glob("*.py") if path.name != "score.py"]
    imported = {
        name
        for path in modules
        for name in re.findall(r"(?m)^\s*(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"))
    }
    ours = {name for name in imported if name.split(".")[0] in ("container", "emulator", "contract_tests", "deploy")}
    assert {name for name in ours if not name.startswith("container.agent")} == set()


def test_everything_is_pinned_by_hash_and_no_host_is_named() -> None:
    entries = requirements()
    assert len(entries) > 20
    assert all("==" in entry and "--hash=sha256:" in entry and "://" not in entry for entry in entries.values())


def test_the_image_has_what_the_extra_names() -> None:
    wanted = {re.split(r"[^A-Za-z0-9-]", line)[0] for line in PROJECT["project"]["optional-dependencies"]["agent"]}
    assert wanted <= set(requirements())


def test_lame_is_there_only_if_it_is_asked_for() -> None:
    assert "lameenc" not in requirements()
    assert set(requirements("requirements-mp3.txt")) == {"lameenc"}
    assert ("ARG", "MP3=") in steps()


def test_every_package_has_a_wheel_for_the_machines_of_agentcore(tmp_path: Path) -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed; it looks the wheels of other machines up")
    step, _ = [argument for instruction, argument in steps() if instruction == "RUN"]
    assert "--only-binary :all:" in step
    assert "manylinux_2_28_${MACHINE}" in step
    done = subprocess.run(
        [
            uv, "pip", "install", "--dry-run", "--target", str(tmp_path), "--no-deps",
            "--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.12", "--only-binary", ":all:",
            "--require-hashes", "-r", str(HERE / "requirements.txt"), "-r", str(HERE / "requirements-mp3.txt"),
        ],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = set(re.findall(r"(?m)^ \+ ([a-z0-9-]+)==", done.stderr))
    elsewhere = {name for name, entry in requirements().items() if "; sys_platform == " in entry}
    assert found == set(requirements()) - elsewhere | {"lameenc"}


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> tuple[docker.DockerClient, str]:
    """Build the image for the engine's own processor."""
    machine = engine.info()["Architecture"]
    platform = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[machine]
    built, _ = engine.images.build(
        path=str(ROOT),
        dockerfile="container/agent/Dockerfile",
        tag="voice-agent:test",
        buildargs={"PLATFORM": platform, "MACHINE": machine},
        rm=True,
    )
    return engine, str(built.id)


@pytest.mark.image
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_its_bytecode_carries_no_time_of_the_build(image: tuple[docker.DockerClient, str]) -> None:
    kinds = kinds_of_bytecode(*image)
    assert set(kinds) == {UNCHECKED_HASH}, kinds


@pytest.mark.image
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_image_serves_without_rights_and_stops_when_told(image: tuple[docker.DockerClient, str]) -> None:
    client, name = image
    running = client.containers.run(
        name, detach=True, ports={"8080/tcp": ("127.0.0.1", None)}, read_only=True, tmpfs={"/tmp": ""},  # noqa: S108
        environment={"AWS_REGION": "us-west-2"},
    )  # fmt: skip
    try:
        running.reload()
        url = f"http://127.0.0.1:{running.ports['8080/tcp'][0]['HostPort']}"
        deadline = time.monotonic() + 120
        while True:
            try:
                assert httpx.get(f"{url}/ping", timeout=2).json()["status"] == "Healthy"
                break
            except httpx.HTTPError:
                assert time.monotonic() < deadline, running.logs().decode()
                time.sleep(0.2)
        assert b"uid=1000" in running.exec_run("id").output
        answer = httpx.post(f"{url}/invocations", json={"prompt": "Hello."}, timeout=60)
        (event,) = frames(answer.content)
        assert event["code"] == "not_configured"
        running.stop(timeout=30)
        assert running.wait()["StatusCode"] in (0, 143)
    finally:
        running.remove(force=True)
