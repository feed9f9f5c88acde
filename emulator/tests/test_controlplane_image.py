"""The control plane with a real container engine: an image run as SageMaker runs it."""

import contextlib
import gc
import io
import os
import tarfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import docker
import pytest
from botocore.exceptions import ClientError
from docker.errors import DockerException, ImageNotFound

from emulator import Emulator
from emulator.controlplane.startup import Lifecycle
from emulator.tests.required import lacking
from emulator.tests.test_controlplane_boto3 import Cloud, conversation, until

pytestmark = [
    pytest.mark.image,
    # docker's client leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

BASE = "docker.io/library/python:3.12-slim"
LABEL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
MARK = "sagemaker-bidi.emulator"
# the engine has no network to install a WebSocket server from; HTTP is enough to be in service
PROGRAM = """\
import http.server, signal, sys, os
assert sys.argv[1:] == ["serve"], sys.argv
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def do_POST(self):
        body = os.environ["GREETING"].encode() + b" " + self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-length", str(len(body))); self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Handler).serve_forever()
"""
DOCKERFILES = {
    "good": f'FROM {BASE}\nCOPY p.py /p.py\nLABEL {LABEL}=true\nENTRYPOINT ["python", "/p.py"]\n',
    "unlabelled": f'FROM {BASE}\nCOPY p.py /p.py\nENTRYPOINT ["python", "/p.py"]\n',
    "no-entrypoint": f'FROM {BASE}\nCOPY p.py /p.py\nCMD ["python", "/p.py", "serve"]\n',
    "shell-form": f"FROM {BASE}\nCOPY p.py /p.py\nLABEL {LABEL}=true\nENTRYPOINT python /p.py serve; true\n",
    "other-port": f'FROM {BASE}\nCOPY p.py /p.py\nENV PORT=9000\nENTRYPOINT ["python", "/p.py"]\n',
}


def _missing() -> str | None:
    """Say why there is no engine; leaves nothing of the attempt behind for other tests to stumble over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # docker's client leaves its socket to the garbage collector
        try:
            client = docker.from_env(timeout=60)
            try:
                client.images.get(BASE)
            finally:
                client.close()
        except (DockerException, ImageNotFound) as error:
            reason: str | None = os.environ.get("NO_ENGINE") or f"no Docker engine with {BASE}: {error}"
        else:
            reason = None
        gc.collect()
    return reason


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    reason = _missing()
    if reason is not None:
        lacking(reason)
    client = docker.from_env(timeout=60)
    for name, dockerfile in DOCKERFILES.items():
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            for path, text in (("Dockerfile", dockerfile), ("p.py", PROGRAM)):
                entry = tarfile.TarInfo(path)
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        context.seek(0)
        client.images.build(fileobj=context, custom_context=True, tag=f"emulator-test:{name}", rm=True)
    yield client
    for name in DOCKERFILES:
        client.images.remove(f"emulator-test:{name}", force=True)
    client.close()


def containers(engine: Any) -> list[tuple[str, str]]:
    """Return id and status of each container of an emulator; one may end while they are listed."""
    found = engine.containers.list(all=True, filters={"label": MARK}, ignore_removed=True)
    return [(each.id, each.status) for each in found]


@pytest.fixture(scope="module")
def cloud(engine: Any, state_directory: Path) -> Iterator[Cloud]:
    times = Lifecycle(startup_limit=8, starting_interval=0.1, running_interval=0.1, stop_grace=2)
    with (
        Emulator(lifecycle=times, state_directory=state_directory) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in emulator.environment.items():
            patch.setenv(name, value)
        yield Cloud(emulator, boto3.session.Session())
    assert containers(engine) == []


def test_an_image_is_run_with_serve_and_its_environment(
    cloud: Cloud, engine: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.deploy("good", "emulator-test:good", GREETING="hello")
    assert cloud.settled("good").get("FailureReason") is None
    assert cloud.ask("good") == b"hello you"
    cloud.client("sagemaker").delete_endpoint(EndpointName="good")
    until(lambda: True if not containers(engine) else None)
    assert "was killed" not in caplog.text


async def test_an_image_without_the_label_serves_no_bidirectional_stream(
    cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.deploy("unlabelled", "emulator-test:unlabelled", GREETING="hello")
    assert cloud.settled("unlabelled")["EndpointStatus"] == "InService"
    assert f"the image lacks the label {LABEL}=true" in caplog.text
    assert len(cloud.emulator.notes("unlabelled")) == 1
    assert cloud.ask("unlabelled") == b"hello you"
    with pytest.raises(Exception, match="Failed to establish WebSocket connection"):
        async with conversation("unlabelled"):
            pass
    cloud.client("sagemaker").delete_endpoint(EndpointName="unlabelled")


def test_an_image_without_an_entrypoint_fails(cloud: Cloud) -> None:
    cloud.deploy("no-entrypoint", "emulator-test:no-entrypoint")
    reason = cloud.settled("no-entrypoint")["FailureReason"]
    assert "the engine cannot start emulator-test:no-entrypoint with the argument 'serve'" in reason
    assert '"serve"' in reason


def test_another_port_than_8080_fails(cloud: Cloud) -> None:
    cloud.deploy("other-port", "emulator-test:other-port")
    reason = cloud.settled("other-port")["FailureReason"]
    assert "0.0.0.0:8080" in reason


def test_a_shell_that_swallows_the_signal_is_flagged(cloud: Cloud, caplog: pytest.LogCaptureFixture) -> None:
    cloud.deploy("shell-form", "emulator-test:shell-form", GREETING="hello")
    assert cloud.settled("shell-form")["EndpointStatus"] == "InService"
    assert "ENTRYPOINT is in shell form" in caplog.text
    cloud.client("sagemaker").delete_endpoint(EndpointName="shell-form")
    until(lambda: True if "did not end within 2 s of SIGTERM and was killed" in caplog.text else None)


def test_an_image_that_is_not_there_fails_and_nothing_is_pulled(cloud: Cloud) -> None:
    cloud.deploy("absent", "000000000000.dkr.ecr.us-west-2.amazonaws.com/absent:1")
    reason = cloud.settled("absent")["FailureReason"]
    assert "the engine has no image 000000000000.dkr.ecr" in reason
    assert "--local-image" in reason


def test_a_container_of_the_engine_is_paused_goes_on_and_is_killed_on_demand(cloud: Cloud, engine: Any) -> None:
    cloud.deploy("faulty", "emulator-test:good", GREETING="hello")
    assert cloud.settled("faulty")["EndpointStatus"] == "InService"
    ((first, _),) = containers(engine)
    cloud.emulator.process_fault("faulty", "freeze")
    assert containers(engine) == [(first, "paused")]
    cloud.emulator.process_fault("faulty", "freeze")  # no failure, it is frozen
    cloud.emulator.process_fault("faulty", "resume")
    assert containers(engine) == [(first, "running")]
    assert cloud.ask("faulty") == b"hello you"
    cloud.emulator.process_fault("faulty", "kill")

    def answers_anew() -> bool | None:
        with contextlib.suppress(ClientError):
            return cloud.ask("faulty") == b"hello you" or None
        return None

    assert until(answers_anew)
    until(lambda: True if [each for each, _ in containers(engine)] not in ([first], []) else None)
    cloud.emulator.process_fault("faulty", "freeze")  # its end must not wait for what is paused
    cloud.client("sagemaker").delete_endpoint(EndpointName="faulty")
    until(lambda: True if containers(engine) == [] else None)
