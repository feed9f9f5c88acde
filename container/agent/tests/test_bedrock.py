"""The agent with the real BedrockModel, over boto3, against the emulated Bedrock."""

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest
from strands.models import BedrockModel

from container.agent.tests.conftest import InFront
from container.agent.tests.serving import agent, audio, idle, invoke, live, of
from container.agent.tests.voices import PCM, Voice
from emulator.bedrock.script import Script, Turn

FAST: dict[str, Any] = {"tokens_per_second": 0, "first_token": 0}
TEXT = "The first sentence is here. The second one comes later."


async def test_a_turn(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, Script((Turn(TEXT, **FAST),)), in_front) as client:
        events = await invoke(client)
        assert "".join(event["text"] for event in of(events, "text")) == TEXT
        assert audio(events) == PCM * 4
        assert events[-1]["type"] == "done"
    assert voice.texts == ["The first sentence is here.", "The second one comes later."]


async def test_a_throttled_request_is_tried_again_before_there_is_text(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, Script((Turn(TEXT, **FAST, refuse="ThrottlingException", times=1),)), in_front) as client:
        assert (await invoke(client))[-1]["type"] == "done"
    assert len(voice.texts) == 2


@pytest.mark.parametrize(
    ("fail", "code"),
    [("ThrottlingException", "model_throttled"), ("ModelStreamErrorException", "model_error"), ("cut", "model_error")],
)
async def test_a_stream_that_breaks_is_an_error_and_nothing_is_spoken_twice(
    in_front: InFront, fail: str, code: str
) -> None:
    voice = Voice()
    turn = Turn(TEXT, **FAST, fail=fail, fail_after=9, times=1)
    async with agent(voice, Script((turn,)), in_front) as client:
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", code)
        assert TEXT.startswith("".join(event["text"] for event in of(events, "text")))
        assert events[-1]["t_ms"] < 10_000
        assert (await invoke(client))[-1]["type"] == "done"  # the next turn works


async def test_a_client_that_leaves_ends_the_stream_of_bedrock(
    in_front: InFront, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    read = BedrockModel._stream  # noqa: SLF001 - where the thread that reads is

    def watched(*arguments: Any, **options: Any) -> None:
        try:
            read(*arguments, **options)
        finally:
            ended.set()

    monkeypatch.setattr(BedrockModel, "_stream", watched)
    minute = Turn("word " * 600, tokens_per_second=10, first_token=0)
    async with agent(Voice(), Script((minute,)), in_front) as client:
        async with aclosing(live(client)) as events:
            async for event in events:
                if event["type"] == "text":
                    break
            assert not ended.is_set()
        await idle(client)
        assert await asyncio.to_thread(ended.wait, 20)
