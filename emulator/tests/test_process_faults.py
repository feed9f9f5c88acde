"""Containers that are killed, frozen, or whose /ping fails, seen through the official SDK."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    ModelError,
    ModelStreamError,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
)
from smithy_http.aio.crt import AWSCRTHTTPClient

from emulator import Emulator, Endpoint, Switches, Target, launched, started
from emulator.cli import main
from emulator.controlplane.startup import Lifecycle
from emulator.process import Process

APP = Target("app", "emulator.bench.container:app")
IMAGE = "000000000000.dkr.ecr.us-west-2.amazonaws.com/model:1"
QUICK = Lifecycle(
    startup_limit=20, starting_interval=0.05, running_interval=0.05, ping_timeout=1, unhealthy_after=3, stop_grace=2
)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


class Conversation:
    """One session of the SDK."""

    def __init__(self, stream: Any, output: Any) -> None:
        self._stream, self._output = stream, output

    async def send(self, data: bytes) -> None:
        part = RequestPayloadPart(bytes_=data, data_type="UTF8")
        await self._stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

    async def receive(self) -> bytes:
        received: bytes = (await self._output.receive()).value.bytes_
        return received

    async def say(self, data: bytes) -> bytes:
        await self.send(data)
        return await self.receive()


@contextlib.asynccontextmanager
async def conversation() -> AsyncIterator[Conversation]:
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(transport=AWSCRTHTTPClient())
    sdk = AsyncSageMakerRuntimeHTTP2Client(config=config)
    stream = await sdk.invoke_endpoint_with_bidirectional_stream(
        InvokeEndpointWithBidirectionalStreamInput(endpoint_name="voice")
    )
    try:
        _, output = await stream.await_output()
        yield Conversation(stream, output)
    finally:
        await stream.input_stream.close()
        await sdk.close()


@contextlib.contextmanager
def serving(endpoint: Endpoint | None, state: Path, **options: Any) -> Iterator[Emulator]:
    endpoints = {} if endpoint is None else {"voice": endpoint}
    with (
        Emulator(endpoints, state_directory=state, **options) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in emulator.environment.items():
            patch.setenv(name, value)
        yield emulator


async def test_a_container_that_is_killed_is_a_model_stream_error_and_then_a_424(state_directory: Path) -> None:
    async with asyncio.timeout(60):
        with launched(APP) as url, serving(Endpoint(url), state_directory) as emulator:
            async with conversation() as talk:
                assert await talk.say(b"hello") == b"hello"
                await asyncio.to_thread(emulator.process_fault, "voice", "kill")
                with pytest.raises(ModelStreamError) as caught:
                    await talk.receive()
                assert caught.value.error_code == "1006"
            with pytest.raises(ModelError) as refused:
                async with conversation():
                    pass
            assert refused.value.original_status_code == 424
            assert started.state(url) == "killed"
        assert started.state(url) is None


async def test_a_frozen_container_is_silent_and_goes_on_where_it_was(state_directory: Path) -> None:
    switches = Switches(accept_timeout=0.5)
    async with asyncio.timeout(60):
        with launched(APP) as url, serving(Endpoint(url), state_directory, switches=switches) as emulator:
            async with conversation() as talk:
                assert await talk.say(b"before") == b"before"
                await asyncio.to_thread(emulator.process_fault, "voice", "freeze")
                await talk.send(b"while it is frozen")
                answer = asyncio.ensure_future(talk.receive())
                with pytest.raises(ModelError) as refused:  # it does not accept another WebSocket in time
                    async with conversation():
                        pass
                assert "did not accept the WebSocket" in (refused.value.original_message or "")
                assert not answer.done()
                await asyncio.to_thread(emulator.process_fault, "voice", "resume")
                assert await answer == b"while it is frozen"


async def test_a_container_that_stays_frozen_is_cut_for_its_unanswered_pings(state_directory: Path) -> None:
    switches = Switches(ping_interval=0.1, ping_misses=3)
    async with asyncio.timeout(60):
        with launched(APP) as url, serving(Endpoint(url), state_directory, switches=switches) as emulator:
            async with conversation() as talk:
                await talk.say(b"before")
                await asyncio.to_thread(emulator.process_fault, "voice", "freeze")
                with pytest.raises(ModelStreamError, match="answered none of the last 3 pings"):
                    await talk.receive()


def commands() -> int:
    """Return how many containers of ours run."""
    count = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            mine = int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid()
            count += mine and "emulator.tests.model" in (stat.parent / "cmdline").read_text()
    return count


async def until(look: Any) -> None:
    deadline = time.monotonic() + 30
    while not await asyncio.to_thread(look):
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.05)  # the API has no event to wait for


def deploy(emulator: Emulator) -> None:
    sagemaker = boto3.session.Session().client("sagemaker")
    sagemaker.create_model(
        ModelName="m", PrimaryContainer={"Image": IMAGE}, ExecutionRoleArn="arn:aws:iam::000000000000:role/r"
    )
    variant = {
        "VariantName": "AllTraffic", "ModelName": "m", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1
    }  # fmt: skip
    sagemaker.create_endpoint_config(EndpointConfigName="c", ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName="voice", EndpointConfigName="c")
    deadline = time.monotonic() + 30
    while sagemaker.describe_endpoint(EndpointName="voice")["EndpointStatus"] != "InService":
        assert time.monotonic() < deadline
        time.sleep(0.05)  # the API has no event to wait for
    del emulator


async def test_a_container_of_the_control_plane_that_is_killed_is_started_anew(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    images = {IMAGE: f"{sys.executable} -m emulator.tests.model {{port}}"}
    async with asyncio.timeout(90):
        with serving(None, state_directory, local_images=images, lifecycle=QUICK) as emulator:
            await asyncio.to_thread(deploy, emulator)
            async with conversation() as talk:
                assert await talk.say(b"a") == b"hello a"
                # the command line asks the admin API of the running emulator
                command = ["faults", "process", "kill", "voice", "--url", emulator.url]
                assert await asyncio.to_thread(main, [*command, "--state-dir", str(state_directory)]) == 0
                with pytest.raises(ModelStreamError):
                    await talk.receive()
            await until(lambda: "exited with status -9 while in service" in caplog.text)

            def answers() -> bool:
                runtime = boto3.session.Session().client("sagemaker-runtime")
                with contextlib.suppress(runtime.exceptions.ModelError):
                    return bool(runtime.invoke_endpoint(EndpointName="voice", Body=b"b")["Body"].read() == b"hello b")
                return False

            await until(answers)
            async with conversation() as talk:
                assert await talk.say(b"c") == b"hello c"
    assert commands() == 0


async def test_while_ping_fails_streams_go_on_and_the_container_is_replaced_when_it_lasts(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    images = {IMAGE: f"{sys.executable} -m emulator.tests.model {{port}}"}
    async with asyncio.timeout(90):
        with serving(None, state_directory, local_images=images, lifecycle=QUICK) as emulator:
            await asyncio.to_thread(deploy, emulator)
            async with conversation() as old:
                assert await old.say(b"a") == b"hello a"
                await asyncio.to_thread(emulator.process_fault, "voice", "ping-fails")
                await until(lambda: commands() == 2)
                assert "/ping of variant AllTraffic failed 3 times in a row" in caplog.text
                await until(lambda: container_of(emulator, state_directory)["ping_fails"] is False)  # it is the new one
                assert await old.say(b"b") == b"hello b"  # an open stream stays
                async with conversation() as new:
                    assert await new.say(b"c") == b"hello c"
            await until(lambda: commands() == 1)
    assert commands() == 0


def container_of(emulator: Emulator, state: Path) -> dict[str, Any]:
    from emulator.faults_cli import AdminClient  # noqa: PLC0415

    (endpoint,) = json.loads(AdminClient(emulator.url, state).ask("GET", "endpoints"))
    variant: dict[str, Any] = endpoint["variants"][0]
    return variant


def test_what_cannot_be_done_is_refused_and_says_why(state_directory: Path) -> None:
    with launched(APP) as url, serving(Endpoint(url), state_directory) as emulator:
        with pytest.raises(LookupError, match="nobody watches /ping of the container"):
            emulator.process_fault("voice", "ping-fails")
        with pytest.raises(LookupError, match="No endpoint other is served; there are: voice"):
            emulator.process_fault("other", "kill")
        with pytest.raises(LookupError, match="has no variant blue; it has AllTraffic"):
            emulator.process_fault("voice", "kill", "blue")


def test_a_frozen_process_gets_its_sigterm_when_its_block_ends() -> None:
    program = "import signal; print('up', flush=True); signal.pause()"
    with Process.python(["-c", program], Path.cwd()) as process:
        while process.tail() != ["up"]:
            time.sleep(0.01)  # another process: there is no event to wait for
        process.freeze()
    assert process.exit_code == -signal.SIGTERM  # SIGKILL would come after 5 s
