"""boto3's ``bedrock-runtime`` and Strands' ``BedrockModel``, unmodified, with nothing but environment variables."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import pytest
from botocore.exceptions import ClientError, EventStreamError
from strands import Agent, tool
from strands.models import BedrockModel
from urllib3.exceptions import ProtocolError

from emulator import Emulator, Switches
from emulator.bedrock.script import Script, ToolUse, Turn
from emulator.server import Server

ARN = "arn:aws:bedrock:us-west-2::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0"
QUICK = Turn("One. Two.", tokens_per_second=0, first_token=0)
HELLO: Any = [{"role": "user", "content": [{"text": "Hello"}]}]


@contextlib.contextmanager
def stage(
    state: Path, monkeypatch: pytest.MonkeyPatch, *turns: Turn, switches: Switches | None = None
) -> Iterator[tuple[Any, Emulator]]:
    with Emulator(switches=switches, state_directory=state, bedrock_script=Script(turns or (QUICK,))) as emulator:
        for name, value in emulator.environment.items():
            monkeypatch.setenv(name, value)
        with model() as client:
            yield client, emulator


@contextlib.contextmanager
def model(attempts: int = 1) -> Iterator[Any]:
    config = botocore.config.Config(retries={"total_max_attempts": attempts}, read_timeout=20)
    client = boto3.session.Session().client("bedrock-runtime", config=config)
    try:
        yield client
    finally:
        client.close()


def read(response: Any) -> list[dict[str, Any]]:
    with contextlib.closing(response["stream"]) as stream:
        return list(stream)


def spoken(events: list[dict[str, Any]]) -> str:
    return "".join(event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event)


def test_converse_stream_and_converse(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stage(state_directory, monkeypatch) as (client, emulator):
        assert emulator.environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] == emulator.url
        for name in (ARN, "us.anthropic.claude-haiku-4-5-20251001-v1:0"):
            response = client.converse_stream(modelId=name, messages=HELLO)
            assert response["ResponseMetadata"]["RequestId"]
            events = read(response)
            assert spoken(events) == "One. Two."
            assert events[-2] == {"messageStop": {"stopReason": "end_turn"}}
            assert events[-1]["metadata"]["usage"]["outputTokens"] == 2
        whole = client.converse(modelId=ARN, messages=HELLO)
        assert whole["output"]["message"] == {"role": "assistant", "content": [{"text": "One. Two."}]}
        assert whole["stopReason"] == "end_turn"


def test_another_script_answers_the_next_request(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stage(state_directory, monkeypatch) as (client, emulator):
        emulator.play_bedrock(Script((Turn("Other.", first_token=0),)))
        assert spoken(read(client.converse_stream(modelId=ARN, messages=HELLO))) == "Other."


def test_events_come_at_their_times(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn("One two three.", tokens_per_second=20, first_token=0.2)
    with stage(state_directory, monkeypatch, turn) as (client, _):
        began = time.monotonic()
        with contextlib.closing(client.converse_stream(modelId=ARN, messages=HELLO)["stream"]) as stream:
            times = [time.monotonic() - began for _ in stream]
    assert times[0] >= 0.2  # never early; how late depends on the machine
    assert times[-1] >= 0.2 + 3 / 20
    assert times[-1] - times[0] >= 0.1  # not all at once


@pytest.mark.parametrize(
    ("refuse", "status"),
    [("ThrottlingException", 429), ("AccessDeniedException", 403), ("ModelErrorException", 424)],
)
def test_an_error_before_the_stream(
    refuse: str, status: int, state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage(state_directory, monkeypatch, Turn(refuse=refuse)) as (client, _):
        for operation in (client.converse_stream, client.converse):
            with pytest.raises(ClientError) as caught:
                operation(modelId=ARN, messages=HELLO)
            assert isinstance(caught.value, getattr(client.exceptions, refuse))
            assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
            assert caught.value.response["Error"]["Message"]


def test_throttled_twice_and_then_answered(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        stage(state_directory, monkeypatch, Turn("Hi.", first_token=0, refuse="ThrottlingException", times=2)),
        model(attempts=3) as client,
    ):
        response = client.converse_stream(modelId=ARN, messages=HELLO)
        assert response["ResponseMetadata"]["RetryAttempts"] == 2
        assert spoken(read(response)) == "Hi."


@pytest.mark.parametrize(
    ("fail", "code"),
    [("ThrottlingException", "throttlingException"), ("ModelStreamErrorException", "modelStreamErrorException")],
)
def test_an_error_in_the_stream(fail: str, code: str, state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn("One two three.", first_token=0, fail=fail, fail_after=1)
    with stage(state_directory, monkeypatch, turn) as (client, _):
        heard: list[dict[str, Any]] = []
        response = client.converse_stream(modelId=ARN, messages=HELLO)
        with contextlib.closing(response["stream"]) as stream, pytest.raises(EventStreamError) as caught:
            heard.extend(stream)
        assert caught.value.response["Error"]["Code"] == code
        assert spoken(heard) == "One"
        with pytest.raises(ClientError) as whole:  # which has no stream to fail in
            client.converse(modelId=ARN, messages=HELLO)
        assert whole.value.response["Error"]["Code"] in ("ThrottlingException", "ModelErrorException")


def test_a_cut_socket_is_no_end(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn("One two three.", first_token=0, fail="cut", fail_after=2)
    with stage(state_directory, monkeypatch, turn) as (client, _):
        response = client.converse_stream(modelId=ARN, messages=HELLO)
        with contextlib.closing(response["stream"]) as stream, pytest.raises(ProtocolError):
            list(stream)


def test_a_wrong_key_a_wrong_service_and_a_wrong_model(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stage(state_directory, monkeypatch) as (client, _):
        with pytest.raises(client.exceptions.ValidationException, match="The provided model identifier is invalid"):
            client.converse(modelId="no model", messages=HELLO)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with model() as wrong, pytest.raises(ClientError, match="does not match") as caught:
            wrong.converse_stream(modelId=ARN, messages=HELLO)
        assert caught.value.response["Error"]["Code"] == "InvalidSignatureException"


@contextlib.asynccontextmanager
async def served(state: Path, monkeypatch: pytest.MonkeyPatch, turn: Turn) -> AsyncIterator[tuple[Any, Server]]:
    async with asyncio.timeout(30), Server(state_directory=state, bedrock_script=Script((turn,))) as server:
        for name, value in server.certificates.environment(server.url).items():
            monkeypatch.setenv(name, value)
        with model() as client:
            yield client, server


async def test_a_stop_of_the_emulator_ends_a_stalled_stream(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = Turn("One two.", first_token=0, fail="stall", fail_after=1)
    async with served(state_directory, monkeypatch, turn) as (client, server):
        response = await asyncio.to_thread(client.converse_stream, modelId=ARN, messages=HELLO)
        events = iter(response["stream"])
        while "contentBlockDelta" not in await asyncio.to_thread(next, events):
            pass
        stopping = asyncio.create_task(server.__aexit__(None, None, None))
        with pytest.raises(EventStreamError, match="emulator was stopped"):
            await asyncio.to_thread(next, events)
        await stopping
        response["stream"].close()


@tool
def look(city: str) -> str:
    """Look at the sky.

    Args:
        city: where to look
    """
    return f"{city}: sun"


def test_strands_uses_a_tool_in_a_scripted_conversation(state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = (
        Turn("Let me see.", first_token=0, tokens_per_second=0, tool=ToolUse("look", {"city": "Paris"})),
        Turn("It is sunny.", first_token=0, tokens_per_second=0),
    )
    with stage(state_directory, monkeypatch, *turns):
        agent = Agent(model=BedrockModel(model_id=ARN), tools=[look], callback_handler=None)
        assert str(agent("How is the weather?")).strip() == "It is sunny."
        results = [
            block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
        ]
        assert [result["content"][0]["text"] for result in results] == ["Paris: sun"]
        agent.model.client.close()  # type: ignore[attr-defined]  # so that its sockets are not left to the collector
