"""The stage of a rehearsal: the emulator with moto, and the real console scripts as children."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from deploy import push
from deploy.settings import AGENT_REPOSITORY, SPEECH_REPOSITORY
from deploy.tests import fake_docker
from deploy.tests.power import Switch
from emulator import Emulator, credentials

ACCOUNT = "000000000000"
_CONTAINER = f"{sys.executable} -m uvicorn contract_tests.good.starlette_speech:app --log-level warning --port {{port}}"
_AGENT = f"{sys.executable} -m container.agent serve --host 127.0.0.1 --port {{port}}"
_LIMIT = 300
_POISON = {
    "AWS_PROFILE": "production",
    "AWS_SESSION_TOKEN": "somebody's",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/somebody",
    "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/somebody",
    "HTTPS_PROXY": "http://192.0.2.1:3128",
}


class Stage:
    """One emulated account, empty at first."""

    def __init__(self, emulator: Emulator, folder: Path, switch: Switch) -> None:
        self.emulator = emulator
        self.switch = switch
        self.folder = folder
        self.outputs = folder / "outputs" / "outputs.json"
        self._docker = folder / "docker"
        self._docker.write_text(f'#!/bin/sh\nexec {sys.executable} -m deploy.tests.fake_docker "$@"\n')
        self._docker.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        """A user's environment, with much in it that would lead to an account."""
        assert self.emulator.http_url is not None
        return {
            **os.environ,
            "AWS_ENDPOINT_URL": self.emulator.http_url,
            "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": self.emulator.url,
            "SSL_CERT_FILE": str(self.emulator.ca_bundle),
            "AWS_REGION": credentials.REGION,
            **_POISON,
            "DEPLOY_OUTPUTS": str(self.outputs),
            "DEPLOY_DOCKER": str(self._docker),
            "FAKE_DOCKER": str(self.folder / "images"),
            "FAKE_BUILD": "1",
            "COLUMNS": "200",
            **more,
        }

    def run(self, line: str, expected: int = 0, **more: str) -> str:
        """Run a console script to its end; returns what it said."""
        done = subprocess.run(
            self.command(line),
            env=self.environment(**more),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_LIMIT,
        )
        print(f"$ {line}\n{done.stdout}", flush=True)
        assert done.returncode == expected, f"{line}: status {done.returncode}, {expected} expected\n{done.stdout}"
        assert "Traceback" not in done.stdout
        return done.stdout

    def run_killed(self, line: str, wanted: Callable[[str], bool], **more: str) -> str | None:
        """Run a console script and kill it and its children, as with the power switch, after a change that is wanted.

        Returns that change, None where it came to its end, with status 0.
        """
        with (self.folder / "killed.log").open("w+") as said:
            child = subprocess.Popen(
                self.command(line),
                env=self.environment(**more),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self.switch.arm(child.pid, wanted)
            try:
                child.wait(_LIMIT)
            finally:
                self.switch.disarm()
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
            said.seek(0)
            told = said.read()
        print(f"$ {line}\n{told}[{self.switch.killed and f'killed after {self.switch.killed}'}]", flush=True)
        if self.switch.killed is None:
            assert child.returncode == 0, f"{line}: status {child.returncode}\n{told}"
            assert "Traceback" not in told
        return self.switch.killed

    def kill(self, line: str, after: str, **more: str) -> None:
        """Run a console script and kill it after one change."""
        assert self.run_killed(line, lambda change: change == after, **more), (
            f"{line} never asked for {after!r}: {self.switch.changes[-20:]}"
        )

    @contextmanager
    def client(self, service: str) -> Iterator[Any]:
        """A boto3 client of the emulated account."""
        client = boto3.client(
            service,
            endpoint_url=self.emulator.http_url,
            region_name=credentials.REGION,
            aws_access_key_id=credentials.ACCESS_KEY_ID,
            aws_secret_access_key=credentials.SECRET_ACCESS_KEY,
        )
        try:
            yield client
        finally:
            client.close()

    def stacks(self) -> set[str]:
        """Names of the stacks that exist."""
        with self.client("cloudformation") as client:
            return {stack["StackName"] for stack in client.describe_stacks()["Stacks"]}

    @staticmethod
    def command(line: str) -> list[str]:
        """The installed console script."""
        name, *arguments = line.split()
        script = shutil.which(name, path=str(Path(sys.executable).parent))
        assert script is not None, f"{name} is not installed"
        return [script, *arguments]


def image(recipe: push.Recipe, number: int = 1) -> fake_docker.Built:
    """What the fake docker builds."""
    return fake_docker.build(recipe.dockerfile, recipe.platform or "", dict(recipe.labels), str(number))


def speech_image(number: int) -> str:
    """The digest of the speech image."""
    return image(push.speech_recipe("torch"), number).digest


@contextmanager
def raised(folder: Path) -> Iterator[Stage]:
    """Raise the curtain."""
    registry = f"{ACCOUNT}.dkr.ecr.{credentials.REGION}.amazonaws.com"
    local = {f"{registry}/{SPEECH_REPOSITORY}@{speech_image(number)}": _CONTAINER for number in (1, 2)}
    local[f"{registry}/{AGENT_REPOSITORY}@{image(push.agent_recipe()).digest}"] = _AGENT
    switch = Switch()
    with switch.installed(), Emulator(http_port=0, local_images=local, state_directory=folder / "state") as emulator:
        yield Stage(emulator, folder, switch)
