"""The Python clients that others pin, unmodified, each in an environment of its own."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from emulator.server import PortInUseError
from emulator.tests.clients.environment import python_environment
from emulator.tests.clients.stage import ENDPOINTS, SPOKEN, results, stage

# 0.9 and 0.11 are what pipecat and Deepgram bring along, the newest that of this project; 0.2 was never published
SDKS = ["0.1", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11", "newest"]
# awscrt 0.28: these see the end of a stream only when they have ended it themselves, and on a busy machine an error
# response now and then never reaches the application
OLD = ("0.1", "0.3", "0.4")
INTERPRETERS = {"0.9": "pipecat", "0.11": "deepgram"}


def interpreter(version: str) -> str | Path:
    if version == "newest":
        return sys.executable
    return python_environment(INTERPRETERS.get(version, f"sdk-{version}"))


def raised(result: dict[str, Any]) -> tuple[str, str | None]:
    return result["raised"], result["members"].get("error_code")


def is_unknown_endpoint(result: dict[str, Any]) -> bool:
    return "status: 400" in result["text"] and result["text"].endswith("#ValidationError")


@pytest.mark.parametrize("version", SDKS)
async def test_the_sdk_of_this_version_talks_and_ends_and_raises(version: str, state_directory: Path) -> None:
    python = interpreter(version)
    async with stage(state_directory) as on:
        endpoints = [name for name in ENDPOINTS if name != "leaves" or version not in OLD]
        got: dict[str, dict[str, Any]] = {}
        missed = endpoints
        for _ in range(4 if version in OLD else 1):
            got |= await results(on, python, "-m", "programs.python_sdk", *missed)
            missed = [name for name in missed if got[name].get("raised") == "TimeoutError"]
            if not missed:
                break
        assert got["echo"] == {"received": SPOKEN, "end": "None"}
        assert [frame.split(" ")[0] for frame in on.container.frames] == ["TEXT", "BINARY", "BINARY", "CLOSE"]
        assert await on.container.close_seen() == (1000, "")
        assert got["nobody"]["raised"] == "CallError"
        assert is_unknown_endpoint(got["nobody"])
        assert raised(got["refuses"]) == ("ModelError", "INTERNAL_FAILURE_FROM_MODEL")
        assert got["refuses"]["members"]["original_status_code"] == 424
        assert raised(got["dies"]) == ("ModelStreamError", "1006")
        assert raised(got["fails"]) == ("ModelStreamError", "1011")
        assert got["fails"]["text"] == "out of memory"
        if "leaves" in endpoints:
            assert got["leaves"] == {"received": SPOKEN[:1], "end": "None"}


async def test_pipecat_with_its_address_set(state_directory: Path) -> None:
    python = python_environment("pipecat")
    async with stage(state_directory) as on:
        got = await results(on, python, "-m", "programs.pipecat_client", *ENDPOINTS)
        assert got["echo"] == {"received": SPOKEN, "end": "None"}
        assert await on.container.close_seen() == (1000, "")
        # an error before the session is its own, one inside is the SDK's
        assert got["nobody"]["raised"] == "SageMakerBidiSessionError"
        assert got["nobody"]["members"] == {"error_id": "ValidationError", "http_status": 400, "attempts": 1}
        assert got["refuses"]["raised"] == "SageMakerBidiSessionError"
        assert got["refuses"]["members"] == {"error_id": "ModelError", "http_status": 424, "attempts": 2}
        assert raised(got["dies"]) == ("ModelStreamError", "1006")
        assert raised(got["fails"]) == ("ModelStreamError", "1011")
        assert got["leaves"] == {"received": SPOKEN[:1], "end": "None"}


async def _speech(connection: ServerConnection) -> None:
    """Deepgram's protocol, as far as one sentence each way needs it."""
    async for message in connection:
        if isinstance(message, bytes):
            heard = {"alternatives": [{"transcript": f"{len(message)} bytes", "confidence": 1.0, "words": []}]}
            about = {"request_id": "r", "model_uuid": "u", "model_info": {"name": "n", "version": "v", "arch": "a"}}
            timing = {"channel_index": [0, 1], "start": 0.0, "duration": 1.0, "is_final": True}
            await connection.send(json.dumps({"type": "Results", "channel": heard, "metadata": about, **timing}))
            continue
        asked = json.loads(message)
        if asked["type"] == "Close":
            return
        await connection.send(f"speech of {asked['text']}".encode())
        await connection.send('{"type":"Flushed","sequence_id":0}')


async def test_deepgram_with_its_address_resolved_to_the_emulator(state_directory: Path) -> None:
    python = python_environment("deepgram")
    async with stage(state_directory, _speech) as on:
        got = await results(on, python, "-m", "programs.deepgram_sdk", *ENDPOINTS[:-1])
        assert got["echo"] == {"received": ["speech of héllo", "Flushed", "102400 bytes"], "end": "None"}
        spoken, heard = on.container.requests
        assert (spoken.path, heard.path) == ("/v1/speak?model=aura-2-thalia-en", "/v1/listen?model=nova-3")
        assert is_unknown_endpoint(got["nobody"])
        assert raised(got["refuses"]) == ("ModelError", "INTERNAL_FAILURE_FROM_MODEL")
        assert raised(got["dies"]) == ("ModelStreamError", "1006")
        assert raised(got["fails"]) == ("ModelStreamError", "1011")


@pytest.fixture
def own_hosts_file(tmp_path: Path) -> list[str]:
    """How to start a program that sees another /etc/hosts than everybody else."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost runtime.sagemaker.us-west-2.amazonaws.com\n")
    private = ["unshare", "--mount", "sh", "-c", f'mount --bind "{hosts}" /etc/hosts && exec "$@"', "sh"]
    try:
        subprocess.run([*private, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user cannot have a private /etc/hosts (unshare --mount)")
    return private


async def test_deepgram_with_a_line_in_the_hosts_file(state_directory: Path, own_hosts_file: list[str]) -> None:
    python = python_environment("deepgram")
    async with contextlib.AsyncExitStack() as stack:
        try:
            on = await stack.enter_async_context(stage(state_directory, _speech, 8443))
        except PortInUseError:
            pytest.skip("port 8443, which the client has built in, is in use")
        got = await results(on, *own_hosts_file, python, "-m", "programs.deepgram_sdk", "echo", HOSTS_FILE="own")
        assert got["echo"] == {"received": ["speech of héllo", "Flushed", "102400 bytes"], "end": "None"}
