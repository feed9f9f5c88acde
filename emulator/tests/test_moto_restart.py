"""moto's process dies under the emulator: what was created is gone, and is said to be; the next request is answered."""

import os
import signal
import sys
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from emulator import Emulator
from emulator.tests.test_controlplane_boto3 import IMAGE, QUICK, Cloud, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")


def moto_s_processes() -> list[int]:
    """Return the ids of this process's children that are moto, and no zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            command = (stat.parent / "cmdline").read_text()
        except OSError:  # it has just ended
            continue
        if int(parent) == os.getpid() and state != "Z" and "moto_main" in command:
            found.append(int(stat.parent.name))
    return found


def test_moto_is_started_again_with_empty_books(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    command = f"{sys.executable} -m emulator.tests.model {{port}}"
    with Emulator(local_images={IMAGE: command}, lifecycle=QUICK, state_directory=state_directory) as emulator:
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        cloud = Cloud(emulator, boto3.session.Session())
        cloud.deploy("voice", GREETING="hello")
        assert cloud.settled("voice")["EndpointStatus"] == "InService"
        (process,) = moto_s_processes()
        os.kill(process, signal.SIGKILL)
        until(lambda: not moto_s_processes() or None)
        once = Config(retries={"total_max_attempts": 1})
        patient = cloud.session.client("sagemaker")  # it asks again where the first answer is that moto has ended
        assert patient.list_endpoints()["Endpoints"] == []
        assert "moto's process has ended (exit status -9)" in caplog.text
        with pytest.raises(ClientError, match="Endpoint voice of account"):
            cloud.session.client("sagemaker-runtime", config=once).invoke_endpoint(EndpointName="voice", Body=b"x")
        cloud.deploy("voice", GREETING="hello again")
        assert cloud.settled("voice")["EndpointStatus"] == "InService"
        assert cloud.ask("voice") == b"hello again you"
