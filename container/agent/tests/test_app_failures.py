"""What a turn tells when the model, the container or the endpoint fails, over a real server."""

import asyncio
import re
import socket
from contextlib import aclosing, suppress
from typing import Any

import pytest
from strands.types.exceptions import MaxTokensReachedException, ModelThrottledException

from container.agent.tests.conftest import InFront
from container.agent.tests.scripted import TWO, ScriptedModel
from container.agent.tests.serving import agent, audio, idle, invoke, live, of
from container.agent.tests.voices import PCM, ClosesEarly, Handler, Refuses, Says, Voice, silent


async def test_an_answer_that_breaks_off_is_not_begun_again(in_front: InFront) -> None:
    voice = Voice()
    model = ScriptedModel(["One two. Thr", ModelThrottledException("slow down")], ["One two. Three four."])
    async with agent(voice, model, in_front) as client:
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", "model_throttled")
    assert len(model.calls) == 1
    assert voice.texts in ([], ["One two."])  # it may have been stopped before it was sent


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (RuntimeError("no model today"), "model_error", "the model failed: .*no model today"),
        (asyncio.CancelledError(), "internal", "was cancelled"),
        (ConnectionResetError("gone"), "model_error", "gone"),
    ],
)
async def test_a_model_that_fails_is_an_error_event_and_the_next_turn_works(
    in_front: InFront, failure: BaseException, code: str, message: str
) -> None:
    model = ScriptedModel(["One two. Three. Fo", failure], TWO)
    async with agent(Voice(), model, in_front) as client:
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", code)
        assert re.search(message, events[-1]["message"])
        assert audio(await invoke(client)) == PCM * 4


async def test_a_model_that_falls_silent_is_an_error_event(in_front: InFront) -> None:
    model = ScriptedModel(["One two. Three", asyncio.Event().wait])
    async with agent(Voice(), model, in_front, model_timeout_s=0.3) as client:
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", "model_silent")
        assert events[-1]["message"] == "the model sent nothing for 0.3 s"
    assert model.streaming == 0


async def test_an_answer_that_reached_the_token_limit_is_spoken(in_front: InFront) -> None:
    voice = Voice()
    async with agent(voice, ScriptedModel(["One two. Thr", MaxTokensReachedException("too long")]), in_front) as client:
        events = await invoke(client)
        assert of(events, "text_done")[0]["stop_reason"] == "max_tokens"
        assert events[-1]["type"] == "done"
    assert voice.texts == ["One two.", "Thr"]


@pytest.mark.parametrize(
    ("handler", "limits", "heard", "code", "message"),
    [
        (ClosesEarly(times=1), {}, PCM * 2, "session_ended", "before it had spoken everything"),
        (silent, {"speech_timeout_s": 0.5}, b"", "no_answer", r"answer within 0\.5 s"),
        (Refuses(), {}, b"", "model_failed", "model failed"),
        (Says("garbage"), {}, b"", "protocol", "a text that is not a JSON object"),
        (
            Says('{"type":"synthesis_start"}', PCM),
            {"speech_work_timeout_s": 0.5},
            PCM,
            "no_answer",
            r"answer within 0\.5 s; expected was more audio",
        ),
    ],
    ids=["closes early", "never answers", "error", "garbage", "falls silent"],
)
async def test_a_container_that_misbehaves_is_an_error_event_and_earlier_audio_is_kept(
    in_front: InFront, handler: Handler, limits: dict[str, Any], heard: bytes, code: str, message: str
) -> None:
    async with agent(handler, ScriptedModel(["Hello there."]), in_front, **limits) as client:
        events = await invoke(client)
        assert audio(events) == heard
        assert (events[-1]["type"], events[-1]["code"]) == ("error", code)
        assert re.search(message, events[-1]["message"])
        if isinstance(handler, ClosesEarly | Refuses):
            assert audio(await invoke(client)) == PCM * 2  # the next turn works
        await idle(client)


@pytest.mark.parametrize("leaves", [False, True])
async def test_an_error_does_not_wait_for_a_model_that_does_not_stop(in_front: InFront, *, leaves: bool) -> None:
    told = asyncio.Event()

    async def go_on() -> None:
        while not told.is_set():  # whatever it is told
            with suppress(asyncio.CancelledError):
                await told.wait()

    model = ScriptedModel(["Hello there. How", go_on], TWO)
    async with agent(Refuses(), model, in_front) as client:
        try:
            async with aclosing(live(client)) as events:
                async for event in events:
                    if event["type"] == "error":
                        assert event["code"] == "model_failed"
                        if leaves:
                            break
                        told.set()
        finally:
            told.set()
        assert audio(await invoke(client)) == PCM * 4
        await idle(client)


async def test_an_endpoint_that_refuses_is_told_at_once(in_front: InFront, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with agent(Voice(), ScriptedModel(TWO), in_front) as client:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", f"https://127.0.0.1:{port}")
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", "endpoint_unreachable")
        assert events[-1]["t_ms"] < 2000  # to close what was never open takes longer
        await idle(client)


@pytest.mark.parametrize("address", ["nonsense", "https://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_told_at_once_and_by_its_name(
    in_front: InFront, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    async with agent(Voice(), ScriptedModel(TWO), in_front) as client:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", address)
        events = await invoke(client)
        assert (events[-1]["type"], events[-1]["code"]) == ("error", "not_configured")
        assert f"'{address}'; expected https://HOST" in events[-1]["message"]
        assert "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2" in events[-1]["message"]
        assert events[-1]["t_ms"] < 2000
